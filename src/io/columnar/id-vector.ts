/** Codes of the ids in vectors. */
import { isUtf8 } from 'node:buffer';
import { InputError } from '../../errors.ts';
import { type Id, type IdCoder, NO_ID } from '../../samples/ids.ts';
import type { KindSeen } from '../../samples/row-chunk.ts';
import { RecordError } from '../jsonl/line-range.ts';
import { cutText } from '../layouts/cut.ts';
import type { IdPart, IdSource } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER } from '../layouts/reference.ts';
import type { Vector } from '../vectors.ts';
import type { VectorOf } from './requests.ts';

export interface IdFacts {
  /** Number of the first row of the vectors in the portion, for errors. */
  readonly firstRow: number;
  /** Number of the first row in the file, from 0. */
  readonly fileRow: number;
  readonly rowCount: number;
  readonly kinds: Record<string, KindSeen>;
}

/** A code for each row; NO_ID where a row has no id. */
export function codesOfSource(
  field: string,
  source: IdSource | undefined,
  vectorOf: VectorOf,
  coder: IdCoder,
  facts: IdFacts,
): Uint32Array {
  if (!source) return new Uint32Array(facts.rowCount).fill(NO_ID);
  const [part] = source.parts;
  const isPlain =
    source.parts.length === 1 && !part.cut && part.column.text !== RECORD_NUMBER && part.column.text !== ENTRY_NUMBER;
  const vector = vectorOf(part.column);
  const codes = isPlain
    ? codesOfVector(nameOf(field, part), vector, coder, facts)
    : codesOfParts(field, source.parts, vectorOf, coder, facts);
  if (!source.otherwise || !codes.includes(NO_ID)) return codes;
  const others = codesOfSource(field, source.otherwise, vectorOf, coder, facts);
  for (let row = 0; row < codes.length; row++) if (codes[row] === NO_ID) codes[row] = others[row];
  return codes;
}

function nameOf(field: string, { column }: IdPart): string {
  return column.text === field ? field : `${field} (${column.text})`;
}

function codesOfVector(name: string, vector: Vector | null, coder: IdCoder, facts: IdFacts): Uint32Array {
  const { rowCount } = facts;
  if (!vector || vector.kind === 'nulls') return new Uint32Array(rowCount).fill(NO_ID);
  noteKind(name, vector, facts);
  if (vector.kind === 'integers') return coder.codesOfIntegers(vector.values, vector.present);
  if (vector.kind === 'texts') {
    const { codes: entries, bytes, offsets, present } = vector;
    // Texts that are well formed as a whole need not be looked at one by one.
    const areChecked = isUtf8(bytes.subarray(offsets[0], offsets[offsets.length - 1]));
    const known = new Uint32Array(offsets.length).fill(NO_ID);
    const codes = new Uint32Array(rowCount).fill(NO_ID);
    for (let row = 0; row < rowCount; row++) {
      if (present && present[row] === 0) continue;
      const entry = entries[row];
      if (!areChecked) requireUtf8(name, bytes.subarray(offsets[entry], offsets[entry + 1]), row, facts);
      if (known[entry] === NO_ID) known[entry] = coder.codeOfBytes(bytes, offsets[entry], offsets[entry + 1]);
      codes[row] = known[entry];
    }
    return codes;
  }
  const codes = new Uint32Array(rowCount).fill(NO_ID);
  for (let row = 0; row < rowCount; row++) {
    const id = idAt(name, vector, row, facts);
    if (id !== null) codes[row] = coder.codeOf(id);
  }
  return codes;
}

function codesOfParts(
  field: string,
  parts: readonly IdPart[],
  vectorOf: VectorOf,
  coder: IdCoder,
  facts: IdFacts,
): Uint32Array {
  const codes = new Uint32Array(facts.rowCount).fill(NO_ID);
  const vectors = parts.map((part) => vectorOf(part.column));
  vectors.forEach((vector, i) => {
    if (vector) noteKind(nameOf(field, parts[i]), vector, facts);
  });
  let last: Id[] = [];
  let lastCode = NO_ID;
  rows: for (let row = 0; row < codes.length; row++) {
    const ids: Id[] = [];
    for (let i = 0; i < parts.length; i++) {
      const id = partAt(field, parts[i], vectors[i], row, facts);
      if (id === null) continue rows;
      ids.push(id);
    }
    if (ids.length !== last.length || ids.some((id, i) => id !== last[i])) {
      lastCode = ids.length === 1 ? coder.codeOf(ids[0]) : coder.codeOfParts(ids);
      last = ids;
    }
    codes[row] = lastCode;
  }
  return codes;
}

function partAt(field: string, part: IdPart, vector: Vector | null, row: number, facts: IdFacts): Id | null {
  if (part.column.text === RECORD_NUMBER) return facts.fileRow + row;
  // A record here holds one row.
  if (part.column.text === ENTRY_NUMBER) return 0;
  if (!vector) return null;
  const name = nameOf(field, part);
  const id = idAt(name, vector, row, facts);
  if (id === null || !part.cut) return id;
  if (typeof id !== 'string') throw new RecordError(facts.firstRow + row + 1, `${name} must be a string, found ${id}`);
  try {
    return cutText(name, id, part.cut);
  } catch (error) {
    if (error instanceof InputError) throw new RecordError(facts.firstRow + row + 1, error.message);
    throw error;
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decoding would make different bytes the same text. */
function requireUtf8(name: string, bytes: Uint8Array, row: number, { firstRow }: IdFacts): void {
  if (!isUtf8(bytes)) throw new RecordError(firstRow + row + 1, `${name} has bytes that are not UTF-8`);
}

function idAt(name: string, vector: Vector, row: number, facts: IdFacts): Id | null {
  if (vector.kind === 'nulls' || (vector.present && vector.present[row] === 0)) return null;
  if (vector.kind === 'texts') {
    const entry = vector.codes[row];
    const bytes = vector.bytes.subarray(vector.offsets[entry], vector.offsets[entry + 1]);
    requireUtf8(name, bytes, row, facts);
    return decoder.decode(bytes);
  }
  if (vector.kind === 'integers') return vector.values[row];
  if (vector.kind === 'numbers') {
    const value = vector.values[row];
    if (Number.isSafeInteger(value)) return value;
    if (Number.isInteger(value)) return BigInt(value);
    throw new RecordError(facts.firstRow + row + 1, `${name} must be a whole number or a string, found ${value}`);
  }
  const found = vector.kind === 'booleans' ? String(vector.values[row] === 1) : 'a list';
  throw new RecordError(facts.firstRow + row + 1, `${name} must be a whole number or a string, found ${found}`);
}

function noteKind(name: string, vector: Vector, { rowCount, kinds }: IdFacts): void {
  if (vector.kind === 'nulls' || kinds[name]) return;
  const row = vector.present ? vector.present.indexOf(1) : 0;
  if (row < 0 || rowCount === 0) return;
  const isText = vector.kind === 'texts';
  kinds[name] = { kind: isText ? 'a string' : 'a number', row, found: isText ? 'text' : 'a number' };
}
