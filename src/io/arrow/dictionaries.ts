/** Dictionaries of dictionary-encoded columns, as they stand at a batch: replaced or added to by messages before it. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { Presence, Vector } from '../vectors.ts';
import type { ArrowFile } from './arrow-file.ts';
import { GrowingVector } from './growing-vector.ts';
import { fieldPresence, readLeaf } from './leaves.ts';
import { readMessage } from './message.ts';
import { gather } from './presence.ts';
import { allocate, RecordBatch } from './record-batch.ts';
import { type ArrowField, type FieldDictionary, layoutOf } from './schema.ts';
import { DictionaryBatchSlot } from './slots.ts';
import { integersOf } from './values.ts';

/** What a dictionary holds after the messages from `base` to `last`. */
export interface Dictionary {
  readonly base: number;
  readonly last: number;
  readonly values: GrowingVector;
}

/** A record batch and the dictionaries around it. */
export interface BatchInFile {
  readonly file: RandomAccessFile;
  readonly arrow: ArrowFile;
  readonly index: number;
  readonly batch: RecordBatch;
}

/** Rows [start..start + count) of a dictionary-encoded field. */
export function readEncoded(
  source: BatchInFile,
  field: ArrowField,
  encoding: FieldDictionary,
  start: number,
  count: number,
  outer: Presence,
  name: string,
): Vector {
  const { batch } = source;
  const present = fieldPresence(batch, field, start, count, outer);
  const dictionary = dictionaryAt(source, encoding, name);
  const length = dictionary?.length ?? 0;
  const rows = readIndices(batch, field, encoding, start, count);
  for (let i = 0; i < count; i++) {
    if (present !== null && present[i] === 0) rows[i] = 0;
    else if (!(rows[i] >= 0 && rows[i] < length))
      throw new InputError(
        `${batch.place}: row ${start + i + 1} of column ${name} has index ${rows[i]} into a dictionary of ${length} entries`,
      );
  }
  // A column of nulls alone may go without a dictionary.
  const values = dictionary?.vector() ?? readLeaf(batch, encoding.values, 0, 0, null, name);
  return allocate(count, batch.place, () => gather(values, rows, present));
}

function readIndices(
  batch: RecordBatch,
  field: ArrowField,
  { indexBits, indexSigned }: FieldDictionary,
  start: number,
  count: number,
): Int32Array | Uint32Array | Float64Array {
  const width = indexBits / 8;
  const bytes = batch.bytes(
    batch.bufferIndex(field, 1),
    start * width,
    (start + count) * width,
    `indices of ${field.name}`,
  );
  const indices = integersOf(bytes, indexBits, indexSigned, batch.place);
  // Past 2^53 an index is rounded, but stays as far out of range.
  if (indices instanceof BigInt64Array || indices instanceof BigUint64Array)
    return allocate(count, batch.place, () => Float64Array.from(indices, Number));
  return allocate(count, batch.place, () => indices.slice());
}

/** null where no message has brought the dictionary. */
function dictionaryAt(
  { file, arrow, index }: BatchInFile,
  encoding: FieldDictionary,
  name: string,
): GrowingVector | null {
  const { id } = encoding;
  const messages = arrow.dictionariesById.get(id) ?? [];
  const count = countWhile(messages, (message) => arrow.dictionaries[message].firstBatch <= index);
  if (count === 0) return null;
  const last = messages[count - 1];
  const { base } = arrow.dictionaries[last];
  const cached = arrow.dictionaryCache.get(id);
  const known = cached?.base === base && cached.last <= last ? cached : null;
  const values = known?.values ?? new GrowingVector();
  const from = countWhile(messages, (message) => (known === null ? message < base : message <= known.last));
  // Half-grown values must not be met again if reading fails.
  arrow.dictionaryCache.delete(id);
  for (let i = from; i < count; i++) appendMessage(file, arrow, messages[i], encoding, values, name);
  arrow.dictionaryCache.set(id, { base, last, values });
  return values;
}

/** How many entries, from the first on, the predicate holds for: it holds for none after one that it fails. */
function countWhile(sorted: readonly number[], holds: (entry: number) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function appendMessage(
  file: RandomAccessFile,
  arrow: ArrowFile,
  index: number,
  encoding: FieldDictionary,
  values: GrowingVector,
  name: string,
): void {
  const { start, bodyStart, end } = arrow.dictionaries[index];
  const place = `dictionary ${encoding.id} at byte ${start}`;
  const message = readMessage(file, start, end, place, bodyStart - start);
  const data = message?.header.table(DictionaryBatchSlot.data);
  if (message === null || data === null || data === undefined) throw new InputError(`${place} is not there any more`);
  const batch = new RecordBatch(file, message, data, layoutOf(encoding.values, arrow.metadataVersion), place);
  const added = readLeaf(batch, encoding.values, 0, batch.rowCount, null, name);
  allocate(batch.rowCount, place, () => values.append(added, batch.rowCount));
}
