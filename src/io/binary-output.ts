/** Writes Parquet and Arrow: whole rows of such inputs with columns more, and sidecars. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError } from '../errors.ts';
import { KEYED_BY_INDEX } from '../samples/columns.ts';
import { type IdCoder, NO_ID } from '../samples/ids.ts';
import type { CopiedIds, Input } from './input.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { Output } from './output.ts';
import { runChunkJobInPool } from './parquet/encode-task.ts';
import { openParquet, type ParquetFile } from './parquet/metadata.ts';
import { selectValues } from './parquet/select-values.ts';
import { columnsOnlyJob, type OutputColumn } from './parquet/write-columns-only.ts';
import { type FlatColumn, flatJob, sliceValues } from './parquet/write-flat.ts';
import { withColumnsJob } from './parquet/write-with-columns.ts';
import { openRandomAccess, type RandomAccessFile } from './random-access.ts';
import type { SidecarRows } from './sidecar.ts';
import type { TaskPool } from './task-pool.ts';
import { createTemporaryFile, fileError, removeTemporaryFile, writerTo } from './temporary-files.ts';
import { type RowResults, sliceResults } from './write-input-rows.ts';

/** Pages of new columns; the fastest of those that every reader knows. */
const CODEC = 'snappy';

export async function writeBinaryRows(
  input: Input,
  results: RowResults,
  fields: OutputFields,
  output: Output,
  pool: TaskPool,
): Promise<void> {
  const { path, name } = input;
  const columns = resultColumns(results, fields);
  const replace = fields.overwrite;
  if (input.format === 'arrow') {
    const task = { do: 'write-whole', path, name, columns, replace } as const;
    await withDescriptor(output, (descriptor) =>
      pool.run({ ...task, descriptor, outputName: output.name }, { emit: () => {} }),
    );
    return;
  }
  await withParquet(input, (file, parquet) => {
    const valuesOf = (part: number) => {
      const { firstRow, rowCount } = parquet.rowGroups[part];
      return columns.map(({ values }) => sliceValues(values, firstRow, firstRow + rowCount));
    };
    return withDescriptor(output, (descriptor) => {
      const write = writerTo(descriptor, output.name);
      return runChunkJobInPool(withColumnsJob(file, parquet, { columns, valuesOf }, replace, write), CODEC, pool);
    });
  });
}

/** Whether the rows of a sidecar need the codes of index. @param dropsRows columns are copied with all their rows, or not at all */
export function needsIndexes(input: Input, format: 'jsonl' | 'parquet' | 'arrow', dropsRows: boolean): boolean {
  return dropsRows || !(format === 'parquet' && input.format === 'parquet' && input.copiedIds?.get('index')?.isInteger);
}

export async function writeSidecarColumns(
  input: Input,
  sidecar: SidecarRows,
  format: 'parquet' | 'arrow',
  output: Output,
  pool: TaskPool,
): Promise<void> {
  const kept = keptRows(sidecar);
  const rowCount = kept?.length ?? sidecar.rows.rowCount;
  const allNew = () => selectColumns(newColumns(sidecarColumns(sidecar, new Map())), kept);
  await withDescriptor(output, async (descriptor) => {
    if (format === 'arrow') {
      const columns = allNew();
      return pool.run(
        { do: 'write-sidecar', columns, rowCount, descriptor, outputName: output.name },
        { emit: () => {} },
      );
    }
    const write = writerTo(descriptor, output.name);
    if (input.format !== 'parquet' || kept) return runChunkJobInPool(flatJob(allNew(), rowCount, write), CODEC, pool);
    input.requireUnchanged();
    await withParquet(input, (file, parquet) => {
      const columns = sidecarColumns(sidecar, input.copiedIds ?? new Map());
      const news = newColumns(columns);
      const valuesOf = (part: number) => {
        const { firstRow, rowCount: count } = parquet.rowGroups[part];
        return news.map(({ values }) => sliceValues(values, firstRow, firstRow + count));
      };
      const newOrCopied = columns.map((column) =>
        'path' in column ? { source: 'copied' as const, ...column } : asNew(column),
      );
      return runChunkJobInPool(columnsOnlyJob(file, parquet, newOrCopied, valuesOf, write), CODEC, pool);
    });
    input.requireUnchanged();
  });
}

/** Rows of the file that are not left out, from 0; null: all. */
function keptRows({ rows: { firstRow, rowCount }, results: { keep } }: SidecarRows): Uint32Array | null {
  if (!keep) return null;
  const kept = new Uint32Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) if (keep[firstRow + row] === 1) kept[count++] = row;
  return kept.subarray(0, count);
}

function selectColumns(columns: readonly FlatColumn[], rows: Uint32Array | null): readonly FlatColumn[] {
  return rows ? columns.map((column) => ({ ...column, values: selectValues(column.values, rows) })) : columns;
}

function asNew({ name, kind, nullable }: FlatColumn): OutputColumn {
  return { source: 'new', column: { name, kind, nullable } };
}

/** A column of the input that is taken as it is, or a new one. */
type SidecarColumn = { readonly name: string; readonly path: readonly string[] } | FlatColumn;

function newColumns(columns: readonly SidecarColumn[]): FlatColumn[] {
  return columns.filter((column): column is FlatColumn => !('path' in column));
}

/** @param copied by the field, columns of ids whose bytes can be taken as they are */
function sidecarColumns(
  { rows, columns, side, results, fields, file }: SidecarRows,
  copied: CopiedIds,
): SidecarColumn[] {
  const from = rows.firstRow;
  const to = from + rows.rowCount;
  const part = (codes: Uint32Array | null) => codes?.subarray(from, to) ?? null;
  const ids = [
    ['group_index', () => part(columns.groupCodes), columns.groupIds],
    [
      'rollout_id',
      () => ownRollouts(part(columns.rolloutCodes), columns.flags?.subarray(from, to)),
      columns.rolloutIds,
    ],
    ['index', () => part(side.indexCodes), side.indexIds],
  ] as const;
  const all: SidecarColumn[] = [
    { name: 'file', kind: 'text', nullable: false, values: { kind: 'constant text', text: file } },
    { name: 'row', kind: 'int64', nullable: false, values: { kind: 'sequence', first: 1 } },
  ];
  for (const [name, codesOf, coder] of ids) {
    const path = copied.get(name)?.path;
    const codes = path ? null : codesOf();
    if (path) all.push({ name, path });
    else if (codes?.some((code) => code !== NO_ID)) all.push(idColumn(name, codes, coder));
  }
  return [...all, ...resultColumns(sliceResults(results, from, to), fields)];
}

/** What is added to every row. */
function resultColumns({ rawRewards, advantages, extras }: RowResults, fields: OutputFields): FlatColumn[] {
  return [
    {
      name: fields.rawReward,
      kind: 'double',
      nullable: true,
      values: { kind: 'double', values: rawRewards, present: 'not NaN' },
    },
    {
      name: fields.advantage,
      kind: 'float',
      nullable: false,
      values: { kind: 'float', values: advantages, present: null },
    },
    ...extras,
  ];
}

/** A rollout that is known by its index has no rollout_id. */
function ownRollouts(codes: Uint32Array | null, flags: Uint8Array | undefined): Uint32Array | null {
  if (!codes || !flags) return codes;
  return codes.map((code, row) => (flags[row] & KEYED_BY_INDEX ? NO_ID : code));
}

async function withParquet(
  { path, name }: Input,
  use: (file: RandomAccessFile, parquet: ParquetFile) => Promise<void>,
): Promise<void> {
  const file = openRandomAccess(path, name);
  try {
    await use(file, openParquet(file));
  } finally {
    file.close();
  }
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/** 64-bit integers where all ids fit, else text. */
function idColumn(name: string, codes: Uint32Array, coder: IdCoder): FlatColumn {
  const present = new Uint8Array(codes.length);
  for (let row = 0; row < codes.length; row++) present[row] = codes[row] === NO_ID ? 0 : 1;
  const near = coder.integersOf(codes);
  if (near) return { name, kind: 'int64', nullable: true, values: { kind: 'int64', values: near, present } };
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
  const texts = distinct.map((code) => Buffer.from(wellFormed(name, coder.text(code))));
  const offsets = new Float64Array(texts.length + 1);
  texts.forEach((text, i) => {
    offsets[i + 1] = offsets[i] + text.length;
  });
  const bytes = Buffer.concat(texts);
  return { name, kind: 'text', nullable: true, values: { kind: 'text', codes: entryOf, bytes, offsets, present } };
}

/** @throws InputError on what cannot be written in UTF-8, as it would become another id */
function wellFormed(name: string, id: string): string {
  if (id.isWellFormed()) return id;
  throw new InputError(
    `${name} ${JSON.stringify(id)} has half a surrogate pair, which columns of text cannot hold; JSONL can (--to jsonl)`,
  );
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
