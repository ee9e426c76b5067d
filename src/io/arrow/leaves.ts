/** Columns whose values a record batch holds itself. */
import { InputError } from '../../errors.ts';
import type { Presence, Vector } from '../vectors.ts';
import { bothPresent, readPresence } from './presence.ts';
import type { RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';
import { readTexts, readTextViews } from './texts.ts';
import { typeName } from './types.ts';
import { readBooleans, readIntegers, readNumbers } from './values.ts';

type ReadRows = (batch: RecordBatch, field: ArrowField, start: number, count: number, present: Presence) => Vector;

/**
 * Rows [start..start + count) of a field. Those that are absent in `outer` are absent whatever the field says.
 * @param name the column in messages, quoted
 */
export function readLeaf(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  outer: Presence,
  name: string,
): Vector {
  if (field.typeId === TypeId.null) return { kind: 'nulls' };
  const readRows = READERS.get(field.typeId);
  if (readRows === undefined)
    throw new InputError(`column ${name} is ${typeName(field)}, expected numbers, booleans or text`);
  return readRows(batch, field, start, count, fieldPresence(batch, field, start, count, outer));
}

/** Which rows are there, once the field is known to have that many. */
export function fieldPresence(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  outer: Presence,
): Presence {
  const { length } = batch.node(field.nodeIndex);
  if (start + count > length)
    throw new InputError(`${batch.place}: ${field.name} has ${length} entries, expected ${start + count} or more`);
  return bothPresent(outer, readPresence(batch, field, start, count));
}

const READERS = new Map<TypeId, ReadRows>([
  [TypeId.int, readIntegers],
  [TypeId.float, readNumbers],
  [TypeId.bool, readBooleans],
  [TypeId.utf8, readTexts],
  [TypeId.binary, readTexts],
  [TypeId.largeUtf8, readTexts],
  [TypeId.largeBinary, readTexts],
  [TypeId.utf8View, readTextViews],
  [TypeId.binaryView, readTextViews],
]);
