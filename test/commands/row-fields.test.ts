/** Fields beside the advantage (--emit) and rows that are left out (--drop), in every format. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openArrow } from '../../src/io/arrow/arrow-file.ts';
import { readVectors as readArrowVectors } from '../../src/io/arrow/read-vectors.ts';
import { writeFlatArrow } from '../../src/io/arrow/write-flat.ts';
import { openParquet } from '../../src/io/parquet/metadata.ts';
import { readVectors as readParquetVectors } from '../../src/io/parquet/read-vectors.ts';
import type { FlatColumn } from '../../src/io/parquet/write-flat.ts';
import { openRandomAccess } from '../../src/io/random-access.ts';
import type { Vector } from '../../src/io/vectors.ts';
import { prepareAllCodecs } from '../io/parquet/support.ts';
import { writeFlatParquet } from '../support/parquet-writers.ts';
import { Random } from '../support/random.ts';
import { rowsOf, runCli } from '../support/run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-fields-'));
beforeAll(prepareAllCodecs);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
const target = (ending: string) => join(folder, `${made++}${ending}`);
function file(text: string | Uint8Array, ending = '.jsonl'): string {
  const path = target(ending);
  writeFileSync(path, text);
  return path;
}

interface Row {
  group_index: number;
  rollout_id: number;
  index: number;
  reward: number;
  response_length: number;
  remove_sample: boolean;
}

/** Rows of several groups in no order; every fourth group has equal rewards, group 2 one rollout, some rows are removed. */
function shuffledRows(): Row[] {
  const random = new Random(11);
  const rows: Row[] = [];
  for (let group = 0; group < 12; group++) {
    for (let rollout = 0; rollout < (group === 2 ? 1 : 5); rollout++) {
      const fanOut = 1 + random.integer(0, 2);
      const id = 10 * group + rollout;
      const reward = group % 4 === 0 ? 0.25 : random.integer(0, 8) / 8;
      const remove_sample = group !== 2 && rollout === 3;
      for (let sibling = 0; sibling < fanOut; sibling++)
        rows.push({
          group_index: group,
          rollout_id: id,
          index: 0,
          reward,
          response_length: random.integer(0, 39),
          remove_sample,
        });
    }
  }
  return random.shuffled(rows).map((row, index) => ({ ...row, index }));
}

const ROWS = shuffledRows();
const TOKENS = ROWS.map((row) => (row.remove_sample ? 0 : row.response_length));
const asLines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** What the rows of a batch are to say, found without the program. */
function expectedFields(rows: readonly Row[], excludesRemoved: boolean) {
  const groups = [...new Set(rows.map((row) => row.group_index))];
  const rolloutsOf = (group: number) => [
    ...new Set(rows.filter((row) => row.group_index === group).map((row) => row.rollout_id)),
  ];
  const rollouts = groups.flatMap(rolloutsOf);
  return rows.map((row, i) => {
    const siblings = rows.flatMap((other, k) => (other.rollout_id === row.rollout_id ? [k] : []));
    const most = Math.max(...siblings.map((k) => TOKENS[k]));
    const counted = rolloutsOf(row.group_index)
      .map((id) => rows.find((other) => other.rollout_id === id)!)
      .filter((one) => !(excludesRemoved && one.remove_sample))
      .map(({ reward }) => reward);
    const mean = counted.reduce((a, b) => a + b, 0) / counted.length;
    const squares = counted.reduce((sum, reward) => sum + (reward - mean) ** 2, 0);
    return {
      group: groups.indexOf(row.group_index) + 1,
      rollout: rollouts.indexOf(row.rollout_id) + 1,
      representative: i === siblings.find((k) => TOKENS[k] === most),
      tokens: TOKENS[i],
      mean,
      std: counted.length > 1 ? Math.sqrt(squares / (counted.length - 1)) : 0,
    };
  });
}

const ALL = ['std', 'group', 'representative', 'mean', 'tokens', 'rollout'] as const;
const EMIT_ALL = ['--emit', ALL.join(',')];

type Format = 'jsonl' | 'parquet' | 'arrow';
const FORMATS: Format[] = ['jsonl', 'parquet', 'arrow'];

const inputs: Record<Format, string> = { jsonl: '', parquet: '', arrow: '' };
beforeAll(() => {
  inputs.jsonl = file(asLines(ROWS));
  inputs.parquet = file(
    written((write) => writeFlatParquet(columns(), ROWS.length, 'snappy', write)),
    '.parquet',
  );
  inputs.arrow = file(
    written((write) => writeFlatArrow(columns(), ROWS.length, 'file', write)),
    '.arrow',
  );
});

function written(make: (write: (bytes: Uint8Array) => void) => void): Uint8Array {
  const pieces: Uint8Array[] = [];
  make((bytes) => pieces.push(bytes.slice()));
  return Buffer.concat(pieces);
}

function columns(): FlatColumn[] {
  const whole = (name: keyof Row): FlatColumn => {
    const values = Uint32Array.from(ROWS, (row) => Number(row[name]));
    return { name, kind: 'int64', nullable: false, values: { kind: 'whole', values, present: null } };
  };
  const rewards = Float64Array.from(ROWS, ({ reward }) => reward);
  const removed = Uint8Array.from(ROWS, ({ remove_sample }) => Number(remove_sample));
  return [
    ...(['group_index', 'rollout_id', 'index', 'response_length'] as const).map(whole),
    { name: 'reward', kind: 'double', nullable: false, values: { kind: 'double', values: rewards, present: null } },
    { name: 'remove_sample', kind: 'bool', nullable: false, values: { kind: 'bool', values: removed, present: null } },
  ];
}

/** The rows of an output of any format, columns in their order. */
function read(path: string, format: Format): Record<string, unknown>[] {
  if (format === 'jsonl')
    return readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const opened = openRandomAccess(path);
  const source = format === 'parquet' ? openParquet(opened) : openArrow(opened);
  const requests = source.columns.map(({ path }) => ({ path, as: 'value' as const }));
  const parts = 'rowGroups' in source ? source.rowGroups : source.batches;
  const rows = parts.flatMap(({ rowCount }, part) => {
    const vectors =
      'rowGroups' in source
        ? readParquetVectors(opened, source, part, requests)
        : readArrowVectors(opened, source, part, requests);
    return Array.from({ length: rowCount }, (_, row) =>
      Object.fromEntries(requests.map(({ path }, i) => [path[0], valueAt(vectors[i], row)])),
    );
  });
  opened.close();
  return rows;
}

function valueAt(vector: Vector, row: number): unknown {
  if (vector.kind === 'nulls' || (vector.present !== null && vector.present[row] === 0)) return null;
  switch (vector.kind) {
    case 'integers':
      return Number(vector.values[row]);
    case 'numbers':
      return vector.values[row];
    case 'booleans':
      return vector.values[row] === 1;
    case 'texts': {
      const code = vector.codes[row];
      return Buffer.from(vector.bytes.subarray(vector.offsets[code], vector.offsets[code + 1])).toString();
    }
    default:
      throw new Error('masks are not read here');
  }
}

function expectFields(rows: readonly Record<string, unknown>[], expected: readonly object[]): void {
  expect(rows.length).toBe(expected.length);
  for (const [i, row] of rows.entries()) {
    for (const [name, value] of Object.entries(expected[i])) {
      if (name === 'mean' || name === 'std') expect(row[name], `${name} of row ${i}`).toBeCloseTo(value, 14);
      else expect(row[name], `${name} of row ${i}`).toBe(value);
    }
  }
}

describe.each(FORMATS)('--emit, %s', (format) => {
  test('whole rows have the fields after the two, in the order given', async () => {
    const output = target(`.${format}`);
    const run = await runCli(['normalize', inputs[format], '-o', output, ...EMIT_ALL]);
    expect(run.status).toBe(0);
    const rows = read(output, format);
    expect(Object.keys(rows[0]).slice(-8)).toEqual(['raw_reward', 'advantage', ...ALL]);
    expectFields(rows, expectedFields(ROWS, false));
  });

  test('a sidecar has them too', async () => {
    const output = target(`.${format}`);
    const exclude = ['--exclude', 'removed'];
    const run = await runCli(['normalize', inputs[format], '--only', '-o', output, ...EMIT_ALL, ...exclude]);
    expect(run.status).toBe(0);
    const rows = read(output, format);
    const ids = ['group_index', 'rollout_id', 'index'];
    expect(Object.keys(rows[0])).toEqual(['file', 'row', ...ids, 'raw_reward', 'advantage', ...ALL]);
    expectFields(rows, expectedFields(ROWS, true));
  });

  test('the rest of the output is what it is without', async () => {
    for (const only of [[], ['--only']]) {
      const [plain, more] = [target(`.${format}`), target(`.${format}`)];
      await runCli(['normalize', inputs[format], '-o', plain, ...only]);
      await runCli(['normalize', inputs[format], '-o', more, ...only, '--emit', 'tokens,group']);
      const rows = read(more, format);
      expect(Object.keys(rows[0]).slice(-2)).toEqual(['tokens', 'group']);
      expect(rows.map(({ tokens: _, group: __, ...rest }) => rest)).toEqual(read(plain, format));
    }
  });

  test('a field that is there already is refused, or replaced', async () => {
    const once = target(`.${format}`);
    await runCli(['normalize', inputs[format], '-o', once, '--emit', 'std']);
    const again = target(`.${format}`);
    const names = ['--advantage-field', 'a', '--raw-reward-field', 'r'];
    const refused = await runCli(['normalize', once, '-o', again, '--emit', 'group,std', ...names]);
    expect(refused.status).toBe(3);
    expect(refused.stderr).toMatch(/"std" is there already; leave it out of --emit, or replace it with --overwrite/);
    const replaced = await runCli(['normalize', once, '-o', again, '--emit', 'group,std', '--overwrite']);
    expect(replaced.status).toBe(0);
    const rows = read(again, format);
    expect(Object.keys(rows[0]).slice(-4)).toEqual(['raw_reward', 'advantage', 'group', 'std']);
    expect(rows.map(({ group: _, ...rest }) => rest)).toEqual(read(once, format));
  });

  test('where no row says how many tokens it has, they are null; where no rollout counts, mean and std are', async () => {
    const lines = asLines([
      { group_index: 1, reward: 1, status: 'failed' },
      { group_index: 2, reward: 2 },
      { group_index: 2, reward: 4 },
    ]);
    const output = target(`.${format}`);
    const flags = ['--only', '--emit', 'tokens,mean,std', '--exclude', 'failed'];
    const run = await runCli(['normalize', file(lines), '-o', output, ...flags]);
    expect(run.status).toBe(0);
    expect(read(output, format).map(({ tokens, mean, std }) => [tokens, mean, std])).toEqual([
      [null, null, null],
      [null, 3, Math.SQRT2],
      [null, 3, Math.SQRT2],
    ]);
  });
});

describe('--emit', () => {
  test('compressed rows have the fields', async () => {
    for (const ending of ['.jsonl.gz', '.jsonl']) {
      const output = target(ending);
      const run = await runCli(['normalize', file(gzipSync(asLines(ROWS)), '.gz'), '-o', output, ...EMIT_ALL]);
      expect(run.status).toBe(0);
      const bytes = readFileSync(output);
      const text = (ending === '.jsonl' ? bytes : gunzipSync(bytes)).toString();
      expectFields(
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
        expectedFields(ROWS, false),
      );
    }
  });

  test('the CPU and the GPU say the same', async () => {
    const flags = ['--only', ...EMIT_ALL, '--drop', 'excluded', '--exclude', 'removed'];
    const [cpu, gpu] = [
      await runCli(['normalize', inputs.jsonl, ...flags, '--backend', 'cpu']),
      await runCli(['normalize', inputs.jsonl, ...flags, '--backend', 'webgpu']),
    ];
    expect([cpu.status, gpu.status]).toEqual([0, 0]);
    expect(gpu.stdout.equals(cpu.stdout)).toBe(true);
  });

  test.each(['mean', 'sum'])('no row stands for its rollout under --siblings %s', async (siblings) => {
    const run = await runCli(['normalize', inputs.jsonl, '--siblings', siblings, '--emit', 'representative']);
    expect(new Set(rowsOf(run).map(({ representative }) => representative))).toEqual(new Set([false]));
  });

  test('every row stands for itself under --siblings rows', async () => {
    const run = await runCli(['normalize', inputs.jsonl, '--siblings', 'rows', '--emit', 'representative,rollout']);
    const rows = rowsOf(run);
    expect(new Set(rows.map(({ representative }) => representative))).toEqual(new Set([true]));
    expect(new Set(rows.map(({ rollout }) => rollout)).size).toBe(ROWS.length);
  });

  test('where rewards pass through, what the plan knows is there, and no row stands for another', async () => {
    const raw = ['--advantage-estimator', 'raw'];
    const run = await runCli(['normalize', inputs.jsonl, ...raw, '--emit', 'group,rollout,representative,tokens']);
    const expected = expectedFields(ROWS, false).map(({ group, rollout, tokens }) => {
      return { group, rollout, representative: false, tokens };
    });
    expectFields(rowsOf(run), expected);
    for (const field of ['mean', 'std']) {
      const refused = await runCli(['normalize', inputs.jsonl, ...raw, '--emit', field]);
      expect([refused.status, refused.stdout.length]).toEqual([2, 0]);
      expect(refused.stderr).toMatch(`--emit ${field} has no meaning where every row keeps its own reward`);
    }
  });

  test('gdpo has a mean and a deviation for every reward', async () => {
    const lines = asLines([
      { group_index: 1, reward: { acc: 1, fmt: 0 } },
      { group_index: 1, reward: { acc: 2, fmt: 0 } },
      { group_index: 1, reward: { acc: 6, fmt: 3 } },
    ]);
    const flags = ['--advantage-estimator', 'gdpo', '--reward-key', 'acc,fmt', '--emit', 'std,mean'];
    const [row] = rowsOf(await runCli(['normalize', file(lines), ...flags]));
    expect(Object.keys(row).slice(-4)).toEqual(['std_acc', 'std_fmt', 'mean_acc', 'mean_fmt']);
    expect(row).toMatchObject({ mean_acc: 3, mean_fmt: 1 });
    expect(row.std_acc).toBeCloseTo(Math.sqrt(7), 14);
    expect(row.std_fmt).toBeCloseTo(Math.sqrt(3), 14);
  });

  test('numbers begin anew in every batch of a file', async () => {
    const lines = [0, 1, 0, 1, 1].map((step, i) => ({
      step,
      group_index: i,
      index: i,
      reward: i,
      trainable_tokens: i,
    }));
    const flags = ['--batch-by', 'step', '--emit', 'group,rollout,representative,tokens,mean'];
    const rows = rowsOf(await runCli(['normalize', file(asLines(lines)), ...flags]));
    expect(
      rows.map(({ group, rollout, representative, tokens, mean }) => [group, rollout, representative, tokens, mean]),
    ).toEqual([
      [1, 1, true, 0, 0],
      [1, 1, true, 1, 1],
      [2, 2, true, 2, 2],
      [2, 2, true, 3, 3],
      [3, 3, true, 4, 4],
    ]);
  });

  test('several files of one batch count on', async () => {
    const input = target('');
    mkdirSync(input);
    for (const name of ['a', 'b']) writeFileSync(join(input, `${name}.jsonl`), asLines([{ reward: 1 }, { reward: 2 }]));
    for (const only of [[], ['--only']]) {
      const output = target('');
      await runCli(['normalize', input, '--out-dir', output, '--one-batch', '--emit', 'rollout,mean', ...only]);
      const rows = readdirSync(output).flatMap((name) => read(join(output, name), 'jsonl'));
      expect(rows.map(({ rollout, mean }) => [rollout, mean])).toEqual([1, 2, 3, 4].map((rollout) => [rollout, 1.5]));
    }
  });

  test.each([
    ['an unknown field', ['--emit', 'group,median'], /--emit: unknown name 'median'; known: group, rollout/],
    ['a field named twice', ['--emit', 'group', '--emit', 'group'], /--emit: group is named twice/],
    ['a name taken', ['--emit', 'mean', '--advantage-field', 'mean'], /two of the added fields are called 'mean'/],
  ])('%s is a usage error', async (_, flags, message) => {
    const run = await runCli(['normalize', inputs.jsonl, ...flags]);
    expect([run.status, run.stdout.length]).toEqual([2, 0]);
    expect(run.stderr).toMatch(message);
  });
});

/** Why a row is left out, by the rule for a batch whose removed rollouts are not counted. */
function reasonsToDrop(): ('flat' | 'excluded' | null)[] {
  const fields = expectedFields(ROWS, true);
  return ROWS.map((row, i) => {
    if (row.remove_sample) return 'excluded';
    return row.group_index === 2 || fields[i].std === 0 ? 'flat' : null;
  });
}

describe('--drop', () => {
  const reasons = reasonsToDrop();
  const flags = ['--exclude', 'removed', '--drop', 'flat,excluded'];
  const kept = reasons.flatMap((reason, i) => (reason === null ? [i] : []));

  test('there is something to leave out, and to keep', () => {
    expect(new Set(reasons)).toEqual(new Set(['flat', 'excluded', null]));
  });

  test.each(FORMATS)('a sidecar lacks the rows, and says which row of the input each one is: %s', async (format) => {
    const [whole, less] = [target(`.${format}`), target(`.${format}`)];
    const summary = target('.json');
    await runCli(['normalize', inputs[format], '--only', '-o', whole, '--exclude', 'removed', ...EMIT_ALL]);
    const run = await runCli([
      'normalize',
      inputs[format],
      '--only',
      '-o',
      less,
      ...flags,
      ...EMIT_ALL,
      '--summary',
      summary,
    ]);
    expect(run.status).toBe(0);
    const rows = read(less, format);
    expect(rows).toEqual(read(whole, format).filter((_, i) => reasons[i] === null));
    expect(rows.map(({ row }) => row)).toEqual(kept.map((i) => i + 1));
    const count = (reason: string) => reasons.filter((own) => own === reason).length;
    const dropped = { flat: count('flat'), excluded: count('excluded') };
    expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({ rows: ROWS.length, dropped });
    expect(run.stderr).toMatch(
      `left out ${dropped.flat} rows of flat groups and ${dropped.excluded} of excluded rollouts`,
    );
  });

  test.each(['none', 'gz'])('whole rows of JSONL lack them, on one thread and on several: %s', async (compression) => {
    const text = 'x'.repeat(40_000);
    const rows = Array.from({ length: 20 }, () => ROWS.map((row) => ({ ...row, text }))).flatMap((one, turn) =>
      one.map((row) => ({ ...row, group_index: row.group_index + 100 * turn })),
    );
    const input = file(asLines(rows));
    const outputs = ['1', '3'].map((threads) => [threads, target(compression === 'gz' ? '.jsonl.gz' : '.jsonl')]);
    for (const [threads, output] of outputs) {
      const run = await runCli(['normalize', input, '-o', output, '--threads', threads, ...flags]);
      expect(run.status).toBe(0);
    }
    const [one, three] = outputs.map(([, output]) => {
      const bytes = readFileSync(output);
      return compression === 'gz' ? gunzipSync(bytes) : bytes;
    });
    expect(three.equals(one)).toBe(true);
    const indexes = one
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(indexes.map(({ group_index, index }) => [group_index, index])).toEqual(
      rows.filter((_, i) => reasons[i % ROWS.length] === null).map(({ group_index, index }) => [group_index, index]),
    );
  });

  test.each(['.jsonl', '.jsonl.gz', '.jsonl.zst', '.parquet', '.arrow'])('all rows may go: %s', async (ending) => {
    const lines = asLines([1, 1, 1].map((reward) => ({ group_index: 1, reward })));
    const output = target(ending);
    const run = await runCli(['normalize', file(lines), '-o', output, '--drop', 'flat']);
    expect(run.status).toBe(0);
    const again = await runCli(['normalize', output, '--only', '--to', 'jsonl']);
    expect([again.status, again.stdout.length]).toEqual([0, 0]);
  });

  test('a row goes with a flat group though it is not counted, and is counted as excluded where that is asked for', async () => {
    const lines = asLines([
      { group_index: 1, reward: 1 },
      { group_index: 1, reward: 5, status: 'failed' },
      { group_index: 2, reward: 5, status: 'failed' },
    ]);
    const indexesKept = async (drop: string) => {
      const summary = target('.json');
      const common = ['--only', '--exclude', 'failed', '--summary', summary];
      const run = await runCli(['normalize', file(lines), '--drop', drop, ...common]);
      return [rowsOf(run).map(({ row }) => row), JSON.parse(readFileSync(summary, 'utf8')).dropped];
    };
    expect(await indexesKept('flat')).toEqual([[3], { flat: 2, excluded: 0 }]);
    expect(await indexesKept('excluded')).toEqual([[1], { flat: 0, excluded: 2 }]);
    expect(await indexesKept('flat,excluded')).toEqual([[], { flat: 1, excluded: 2 }]);
  });

  test('a group of one stays where its advantage is not 0', async () => {
    const lines = file(asLines([{ group_index: 1, reward: 3 }]));
    expect(rowsOf(await runCli(['normalize', lines, '--drop', 'flat']))).toEqual([]);
    const verl = ['--like', 'verl', '--grouping', 'auto'];
    const [row] = rowsOf(await runCli(['normalize', lines, '--drop', 'flat', ...verl]));
    expect(row.advantage).not.toBe(0);
  });

  test('keeps groups that maxrl gives 0 because their mean is not above 0: they are not flat', async () => {
    const rows = [-1, -2, 3, 3].map((reward, i) => ({ group_index: i >> 1, reward }));
    const flags = ['--drop', 'flat', '--advantage-estimator', 'maxrl'];
    const kept = rowsOf(await runCli(['normalize', file(asLines(rows)), ...flags]));
    expect(kept.map(({ reward, advantage }) => [reward, advantage])).toEqual([
      [-1, 0],
      [-2, 0],
    ]);
  });

  test('counts of several files are added up', async () => {
    const input = target('');
    mkdirSync(input);
    for (const name of ['a', 'b']) writeFileSync(join(input, `${name}.jsonl`), asLines([{ reward: 1 }, { reward: 1 }]));
    const summary = target('.json');
    const run = await runCli(['normalize', input, '--out-dir', target(''), '--drop', 'flat', '--summary', summary]);
    expect(run.status).toBe(0);
    const told = JSON.parse(readFileSync(summary, 'utf8'));
    expect(told.dropped).toEqual({ flat: 4, excluded: 0 });
    expect(told.files.map((one: { dropped: unknown }) => one.dropped)).toEqual(Array(2).fill({ flat: 2, excluded: 0 }));
  });

  test.each(['parquet', 'arrow'] as const)('whole rows of %s are not left out', async (format) => {
    const output = target(`.${format}`);
    const run = await runCli(['normalize', inputs[format], '-o', output, '--drop', 'flat']);
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(/--drop leaves rows out of JSONL and of what --only writes.*add --only, or read JSONL/);
    expect(readdirSync(folder)).not.toContain(output.slice(folder.length + 1));
  });

  test.each([
    ['an unknown reason', ['--drop', 'flat,singletons'], /--drop: unknown name 'singletons'; known: flat, excluded/],
    ['pass-through', ['--drop', 'excluded', '--advantage-estimator', 'raw'], /--drop excluded has no meaning where/],
    ['a rule that has no flat groups', ['--drop', 'flat', '--baseline', 'none'], /--drop flat has no meaning with/],
  ])('%s is a usage error', async (_, flags, message) => {
    const run = await runCli(['normalize', inputs.jsonl, ...flags]);
    expect([run.status, run.stdout.length]).toEqual([2, 0]);
    expect(run.stderr).toMatch(message);
  });
});
