/** Files in the layouts of frameworks, by their presets: ids, rewards and which rows are there. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../support/run-cli.ts';

const FOLDER = fileURLToPath(new URL('../../fixtures/layouts/', import.meta.url));

interface Row {
  readonly group: string | readonly string[] | null;
  readonly rollout: string | null;
  readonly reward: number | string | null;
}

interface Layout {
  readonly preset: string | null;
  readonly options?: readonly string[];
  readonly join?: { readonly file: string; readonly on: string };
  readonly promptGroupSizes?: readonly number[];
  readonly refused?: true;
  readonly rows?: readonly Row[];
  readonly rowsOf?: string;
}

const EXPECTED: Readonly<Record<string, Layout>> = JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8'));
const isFolder = (name: string) => statSync(join(FOLDER, name)).isDirectory();
/** Prompts that are lists of messages have no id that two rows could share. */
const NESTED_PROMPTS = 'trl-chat/completions_00001.parquet';

const files = Object.entries(EXPECTED).filter(
  ([name, { preset, join: joined }]) => preset !== null && !joined && !isFolder(name) && name !== NESTED_PROMPTS,
);

/** Every id of the output as text, without the numbers' rounding. */
function idsAsText(line: string): { group: unknown; rollout: unknown; reward: unknown; advantage: number } {
  const quoted = line.replace(/("(?:group_index|rollout_id|index)": )(-?\d+)/g, '$1"$2"');
  const row = JSON.parse(quoted);
  const group = Array.isArray(row.group_index) ? row.group_index.map(String) : (row.group_index ?? null);
  return { group, rollout: row.rollout_id ?? row.index ?? null, reward: row.raw_reward, advantage: row.advantage };
}

function expectedRows({ rows, rowsOf }: Layout): readonly Row[] {
  return rows ?? EXPECTED[rowsOf!].rows!;
}

/** Python's sum has compensated since 3.12; ours adds in order, so that a sum of a few terms may end in another bit. */
const ORDER_OF_SUMS = 2 ** -50;

describe('the rows of a file, by its preset', () => {
  test.each(files)('%s', async (name, layout) => {
    const excludes = ['--exclude', 'missing-reward'];
    const args = ['--only', '--to', 'jsonl', '--from', layout.preset!, ...(layout.options ?? []), ...excludes];
    const run = await runCli(['normalize', join(FOLDER, name), ...args]);
    expect(run.stderr).not.toMatch(/error/);
    expect(run.status).toBe(0);
    const rows = run.stdout.toString().trimEnd().split('\n').map(idsAsText);
    const wanted = expectedRows(layout).filter(({ rollout, reward }) => !isEmptyGroup(name, rollout, reward));
    expect(rows.length).toBe(wanted.length);
    for (const [i, { reward }] of wanted.entries()) {
      if (typeof reward !== 'number') expect(rows[i].reward).toBe(null);
      else expect(Math.abs(Number(rows[i].reward) - reward)).toBeLessThanOrEqual(ORDER_OF_SUMS * Math.abs(reward));
    }
    const ownGroups = layout.options?.includes('--group-size') || layout.promptGroupSizes;
    if (!ownGroups) expect(rows.map(({ group }) => group)).toEqual(wanted.map(({ group }) => group));
  });
});

/** ART writes a group without trajectories as a row without either. */
function isEmptyGroup(name: string, rollout: string | null, reward: unknown): boolean {
  return name.startsWith('art') && name.endsWith('.jsonl') && rollout === null && reward === null;
}

describe('the same rows in another format', () => {
  const twins = Object.entries(EXPECTED).filter(([, { rowsOf }]) => rowsOf !== undefined);
  const lines = async (name: string) => {
    const excludes = ['--exclude', 'missing-reward'];
    const run = await runCli(['normalize', '--only', '--to', 'jsonl', ...excludes, join(FOLDER, name)]);
    expect(run.status).toBe(0);
    return run.stdout.toString().replace(/"file": "[^"]*"/g, '"file": ""');
  };
  test.each(twins)('%s has the same ids and the same bits', async (name, { rowsOf }) => {
    expect(await lines(name)).toBe(await lines(rowsOf!));
  });
});

test('a layout that no preset knows is refused with its fields', async () => {
  const run = await runCli(['normalize', join(FOLDER, '../real/rllm-telemetry.ndjson')]);
  expect(run.stderr).toMatch(/no row has a reward; the fields are type, data: --from/);
  expect([run.status, run.stdout.length]).toEqual([3, 0]);
});

test('a join gives groups and rewards; a key without a partner is bad input', async () => {
  const name = 'miles-columns/dashboard_columns/rollout_4.parquet';
  const { file, on } = EXPECTED[name].join!;
  const args = ['--from', 'miles-columns', '--join', join(FOLDER, file), '--on', on, '--only', '--to', 'jsonl'];
  const run = await runCli(['normalize', join(FOLDER, name), ...args]);
  expect(run.status).toBe(3);
  expect(run.stderr).toMatch(/row \d+: sample_index \d+ is in no row of .*4\.jsonl/);
});

test('prompts that are lists of messages are named and refused', async () => {
  const args = ['--from', 'trl', '--only', ...EXPECTED[NESTED_PROMPTS].options!];
  const run = await runCli(['normalize', join(FOLDER, NESTED_PROMPTS), ...args]);
  expect(run.status).toBe(3);
  expect(run.stderr).toMatch(/prompt/);
});

test('the episodes of a folder are one batch', async () => {
  const [name, layout] = Object.entries(EXPECTED).find(([file]) => file.startsWith('rllm/'))!;
  const target = mkdtempSync(join(tmpdir(), 'rollnorm-episodes-'));
  try {
    const run = await runCli(['normalize', join(FOLDER, name), '--from', 'rllm', '--out-dir', target]);
    expect(run.status).toBe(0);
    const groups = new Set(layout.rows!.map(({ group }) => String(group)));
    expect(run.stderr).toMatch(`${layout.rows!.length} rows`);
    expect(run.stderr).toMatch(`${groups.size} prompt groups`);
    expect(run.stderr).toMatch(/passed over .*batch_summary\.json/);
  } finally {
    rmSync(target, { recursive: true });
  }
});
