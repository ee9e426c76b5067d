/** Writes Parquet and Arrow: whole rows of such inputs with two columns more, and sidecars. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KEYED_BY_INDEX } from '../samples/columns.ts';
import { type IdCoder, NO_ID } from '../samples/ids.ts';
import type { SidecarTask } from './columnar/write-task.ts';
import type { Input } from './input.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { IdSource, Layout } from './layouts/layout.ts';
import type { Output } from './output.ts';
import { openParquet } from './parquet/metadata.ts';
import { canCopy, type OutputColumn } from './parquet/write-columns-only.ts';
import type { FlatColumn } from './parquet/write-flat.ts';
import { openRandomAccess } from './random-access.ts';
import type { SidecarRows } from './sidecar.ts';
import type { TaskPool } from './task-pool.ts';
import { createTemporaryFile, fileError, removeTemporaryFile } from './temporary-files.ts';
import type { RowResults } from './write-input-rows.ts';

export async function writeBinaryRows(
  input: Input,
  { rawRewards, advantages }: RowResults,
  { rawReward, advantage, overwrite }: OutputFields,
  output: Output,
  pool: TaskPool,
): Promise<void> {
  const { path, name } = input;
  const format = input.format === 'arrow' ? 'arrow' : 'parquet';
  const what = { format, path, name, rawRewardName: rawReward, advantageName: advantage, replace: overwrite } as const;
  await withDescriptor(output, (descriptor) =>
    pool.run({ do: 'write-whole', ...what, rawRewards, advantages, descriptor, outputName: name }, { emit: () => {} }),
  );
}

export async function writeSidecarColumns(
  input: Input,
  sidecar: SidecarRows,
  layout: Layout,
  format: 'parquet' | 'arrow',
  output: Output,
  pool: TaskPool,
): Promise<void> {
  const task = sidecarTask(input, sidecar, layout, format);
  await withDescriptor(output, (descriptor) =>
    pool.run({ ...task, descriptor, outputName: input.name }, { emit: () => {} }),
  );
}

function sidecarTask(
  input: Input,
  sidecar: SidecarRows,
  layout: Layout,
  format: 'parquet' | 'arrow',
): Omit<SidecarTask, 'descriptor' | 'outputName'> {
  const { rows, columns, side, results, fields, file } = sidecar;
  const from = rows.firstRow;
  const to = from + rows.rowCount;
  const copied = format === 'parquet' && input.format === 'parquet' ? copiedIds(input, layout) : new Map();
  const keyed = columns.flags?.subarray(from, to) ?? null;
  const part = (codes: Uint32Array | null) => codes?.subarray(from, to) ?? null;
  const rolloutCodes = part(columns.rolloutCodes);
  // A rollout that is known by its index has no rollout_id.
  const ownIds = rolloutCodes?.map((code, row) => (keyed && keyed[row] & KEYED_BY_INDEX ? NO_ID : code)) ?? null;
  const ids = [
    ['group_index', part(columns.groupCodes), columns.groupIds],
    ['rollout_id', copied.has('rollout_id') ? null : ownIds, columns.rolloutIds],
    ['index', part(side.indexCodes), side.indexIds],
  ] as const;
  const news: FlatColumn[] = [
    { name: 'file', kind: 'text', nullable: false, values: { kind: 'constant text', text: file } },
    { name: 'row', kind: 'int64', nullable: false, values: { kind: 'sequence', first: 1 } },
  ];
  const plan: OutputColumn[] = news.map((column) => ({ source: 'new', column }));
  for (const [name, codes, coder] of ids) {
    const path = copied.get(name);
    if (path !== undefined) {
      plan.push({ source: 'copied', path, name });
      continue;
    }
    if (!codes?.some((code) => code !== NO_ID)) continue;
    const column = idColumn(name, codes, coder);
    news.push(column);
    plan.push({ source: 'new', column });
  }
  const rewards = results.rawRewards.subarray(from, to);
  const advantages = results.advantages.subarray(from, to);
  const added: FlatColumn[] = [
    {
      name: fields.rawReward,
      kind: 'double',
      nullable: true,
      values: { kind: 'double', values: rewards, present: 'not NaN' },
    },
    {
      name: fields.advantage,
      kind: 'float',
      nullable: false,
      values: { kind: 'float', values: advantages, present: null },
    },
  ];
  news.push(...added);
  for (const column of added) plan.push({ source: 'new', column });
  const { path, name } = input;
  const copyFrom = copied.size > 0 ? { path, name, columns: plan.map(withoutValues) } : null;
  return { do: 'write-sidecar', format, copyFrom, columns: news, rowCount: rows.rowCount };
}

function withoutValues(column: OutputColumn): OutputColumn {
  if (column.source === 'copied') return column;
  const { name, kind, nullable } = column.column;
  return { source: 'new', column: { name, kind, nullable } };
}

/** Id columns of a Parquet input whose bytes can be taken as they are. */
function copiedIds(input: Input, layout: Layout): Map<string, readonly string[]> {
  const file = openRandomAccess(input.path, input.name);
  try {
    const parquet = openParquet(file);
    const copied = new Map<string, readonly string[]>();
    for (const field of ['group_index', 'rollout_id', 'index'] as const) {
      const path = plainPath(layout[field]);
      if (
        path &&
        parquet.columns.some((column) => column.path.join('\0') === path.join('\0')) &&
        canCopy(parquet, path)
      )
        copied.set(field, path);
    }
    return copied;
  } finally {
    file.close();
  }
}

/** The one column that an id is, as it is. */
function plainPath(source: IdSource | undefined): string[] | null {
  if (source?.parts.length !== 1 || source.otherwise || source.parts[0].cut) return null;
  const { steps, text } = source.parts[0].column;
  if (text.startsWith('#')) return null;
  const names = steps.filter((step) => typeof step === 'string');
  return names.length === steps.length ? names : null;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/** 64-bit integers where all ids fit, else text. */
function idColumn(name: string, codes: Uint32Array, coder: IdCoder): FlatColumn {
  const present = Uint8Array.from(codes, (code) => (code === NO_ID ? 0 : 1));
  const entries = new Map<number, number>();
  const entryOf = new Uint32Array(codes.length);
  for (let row = 0; row < codes.length; row++) {
    if (codes[row] === NO_ID) continue;
    let entry = entries.get(codes[row]);
    if (entry === undefined) {
      entry = entries.size;
      entries.set(codes[row], entry);
    }
    entryOf[row] = entry;
  }
  const distinct = [...entries.keys()];
  const integers = distinct
    .map((code) => coder.integerOf(code))
    .filter((id) => id !== undefined)
    .map(BigInt);
  const isWhole = integers.length === distinct.length;
  if (isWhole && integers.every((id) => id >= INT64_MIN && id <= INT64_MAX)) {
    const values = BigInt64Array.from(entryOf, (entry, row) => (present[row] ? integers[entry] : 0n));
    return { name, kind: 'int64', nullable: true, values: { kind: 'int64', values, present } };
  }
  if (isWhole && integers.every((id) => id >= 0n && id <= UINT64_MAX)) {
    const values = BigUint64Array.from(entryOf, (entry, row) => (present[row] ? integers[entry] : 0n));
    return { name, kind: 'uint64', nullable: true, values: { kind: 'uint64', values, present } };
  }
  const texts = distinct.map((code) => Buffer.from(coder.text(code)));
  const offsets = new Float64Array(texts.length + 1);
  texts.forEach((text, i) => {
    offsets[i + 1] = offsets[i] + text.length;
  });
  const bytes = Buffer.concat(texts);
  return { name, kind: 'text', nullable: true, values: { kind: 'text', codes: entryOf, bytes, offsets, present } };
}

/** Formats with an index are written to a file; what is none gets its bytes afterwards. */
async function withDescriptor(output: Output, write: (descriptor: number) => Promise<void>): Promise<void> {
  if (output.descriptor !== null) return write(output.descriptor);
  const path = join(tmpdir(), `rollnorm-${process.pid}-${randomUUID()}.spool`);
  const spool = await createTemporaryFile(path, 0o600).catch((cause) => {
    throw fileError(path, 'cannot create a temporary file', cause);
  });
  try {
    await write(spool.fd);
    const buffer = Buffer.allocUnsafe(SPOOL_READ_BYTES);
    for (let position = 0; !output.closed; ) {
      const { bytesRead } = await spool.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) break;
      await output.write(Buffer.from(buffer.subarray(0, bytesRead)));
      position += bytesRead;
    }
  } finally {
    await spool.close();
    await removeTemporaryFile(path);
  }
}

const SPOOL_READ_BYTES = 1 << 20;
