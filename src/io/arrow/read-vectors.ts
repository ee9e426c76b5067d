/** Reads wanted columns of a record batch; no bytes of others are touched. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { Presence, Vector, VectorRequest } from '../vectors.ts';
import type { ArrowFile } from './arrow-file.ts';
import { columnName, resolvePath } from './columns.ts';
import { type BatchInFile, readEncoded } from './dictionaries.ts';
import { fieldPresence, readLeaf } from './leaves.ts';
import { readMasks } from './masks.ts';
import { readMessage } from './message.ts';
import { type Extents, readExtents } from './offsets.ts';
import { gather } from './presence.ts';
import { allocate, RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';
import { isList, typeName } from './types.ts';

/** One vector a request. The codecs in `arrow.codecs` must be prepared. */
export function readVectors(
  file: RandomAccessFile,
  arrow: ArrowFile,
  batchIndex: number,
  requests: readonly VectorRequest[],
): Vector[] {
  const source = { file, arrow, index: batchIndex, batch: openBatch(file, arrow, batchIndex) };
  return requests.map((request) => {
    const chain = resolvePath(arrow.layout.fields, request);
    return readChain({ source, chain, request }, 0, 0, source.batch.rowCount, null);
  });
}

/** The description of a record batch. */
export function openBatch(file: RandomAccessFile, arrow: ArrowFile, batchIndex: number): RecordBatch {
  const { start, bodyStart, end } = arrow.batches[batchIndex];
  const place = `record batch ${batchIndex + 1}`;
  const message = readMessage(file, start, end, place, bodyStart - start);
  if (message === null) throw new InputError(`${place} is not there any more`);
  return new RecordBatch(file, message, message.header, arrow.layout, place);
}

interface Reading {
  readonly source: BatchInFile;
  /** Fields from the root to what is wanted. */
  readonly chain: readonly ArrowField[];
  readonly request: VectorRequest;
}

/** Rows [start..start + count) of what chain[depth] leads to. */
function readChain(reading: Reading, depth: number, start: number, count: number, outer: Presence): Vector {
  const { source, chain, request } = reading;
  const { batch } = source;
  const field = chain[depth];
  const name = columnName(request.path);
  if (field.dictionary !== null) return readEncoded(source, field, field.dictionary, start, count, outer, name);
  const isLast = depth === chain.length - 1;
  if (isLast && !isList(field)) return readLeaf(batch, field, start, count, outer, name);
  const present = fieldPresence(batch, field, start, count, outer);
  if (isLast) return readMasks(batch, field, start, count, present, name);
  if (field.typeId === TypeId.struct) return readChain(reading, depth + 1, start, count, present);
  return readSingleEntries(reading, depth, start, count, present);
}

/** A list of one entry stands for its entry; every other list is refused. */
function readSingleEntries(reading: Reading, depth: number, start: number, count: number, present: Presence): Vector {
  const { source, chain, request } = reading;
  const { batch } = source;
  const field = chain[depth];
  const extents = readExtents(batch, field, start, count);
  const rows = allocate(count, batch.place, (length) => new Float64Array(length));
  let isDense = true;
  const first = count === 0 ? 0 : extents.starts[0];
  for (let i = 0; i < count; i++) {
    if (present !== null && present[i] === 0) continue;
    const length = extents.ends[i] - extents.starts[i];
    if (length !== 1)
      throw new InputError(
        `column ${columnName(request.path)} is ${typeName(chain[0])}: expected a single value, or one entry in every list, found ${length} entries in row ${start + i + 1} of ${batch.place}`,
      );
    rows[i] = extents.starts[i] - first;
    if (rows[i] !== i) isDense = false;
  }
  const entryCount = count === 0 ? 0 : extents.ends[count - 1] - first;
  if (isDense && present === null) return readChain(reading, depth + 1, first, count, null);
  const wanted = entriesIn(extents, first, entryCount, present, batch);
  const entries = readChain(reading, depth + 1, first, entryCount, wanted);
  return allocate(count, batch.place, () => gather(entries, rows, present));
}

/** Which entries belong to a row that is there. */
function entriesIn({ starts }: Extents, first: number, count: number, present: Presence, batch: RecordBatch): Presence {
  const wanted = allocate(count, batch.place, (length) => new Uint8Array(length));
  for (let i = 0; i < starts.length; i++) if (present === null || present[i] === 1) wanted[starts[i] - first] = 1;
  return wanted;
}
