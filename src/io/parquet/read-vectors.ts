/** Reads wanted columns of one row group. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { Vector, VectorRequest } from '../vectors.ts';
import { ChunkPages, ReadWindow } from './chunk-pages.ts';
import { readFlatColumn } from './flat-column.ts';
import { readMaskColumn } from './mask-column.ts';
import type { ParquetFile } from './metadata.ts';
import type { SchemaLeaf } from './schema.ts';
import { Scratch } from './scratch.ts';

/** Vectors are made for a whole row group. */
const MOST_ROWS = 2 ** 28;
/** Entries of one list column in a row group; the time of a read is bounded by it. */
const MOST_ENTRIES = 2 ** 36;

/**
 * One vector for each request, of all rows of the row group. prepareBlockCodecs(parquet.codecs) comes first.
 * @param scratch of which the vectors are made, so that they are valid until it is recycled
 */
export function readVectors(
  file: RandomAccessFile,
  parquet: ParquetFile,
  rowGroupIndex: number,
  requests: readonly VectorRequest[],
  scratch: Scratch = new Scratch(),
): Vector[] {
  const window = new ReadWindow(file);
  return requests.map((request) => readVector(window, scratch, parquet, rowGroupIndex, request));
}

function readVector(
  window: ReadWindow,
  scratch: Scratch,
  parquet: ParquetFile,
  rowGroupIndex: number,
  request: VectorRequest,
): Vector {
  const rowGroup = parquet.rowGroups[rowGroupIndex];
  const { rowCount, chunks } = rowGroup;
  const index = findLeaf(parquet, request.path);
  const leaf = parquet.leaves[index];
  const name = `column ${request.path.join('.')}`;
  checkReadable(leaf, request.as, name);
  const place = `row group ${rowGroupIndex + 1}, ${name}`;
  const chunk = chunks[index];
  if (rowCount > MOST_ROWS) throw new InputError(`${place}: has ${rowCount} rows; at most ${MOST_ROWS} can be read`);
  if (leaf.maxRepetition === 0 ? chunk.valueCount !== rowCount : chunk.valueCount < rowCount) {
    throw new InputError(`${place}: has ${chunk.valueCount} values, but its row group has ${rowCount} rows`);
  }
  if (chunk.valueCount > MOST_ENTRIES) {
    throw new InputError(`${place}: has ${chunk.valueCount} values; at most ${MOST_ENTRIES} can be read`);
  }
  const pages = new ChunkPages(window, chunk, leaf, place);
  return request.as === 'mask' && !isOnlyNull(leaf)
    ? readMaskColumn(pages, leaf, rowCount, place, scratch)
    : readFlatColumn(pages, leaf, rowGroup, place, scratch);
}

/** The index of the leaf at a path. @throws InputError that lists the columns where there is none */
export function findLeaf(parquet: ParquetFile, path: readonly string[]): number {
  const { leaves } = parquet;
  const startsWithPath = (leaf: SchemaLeaf) => path.every((part, i) => leaf.path[i] === part);
  const exact = leaves.findIndex((leaf) => leaf.path.length === path.length && startsWithPath(leaf));
  if (exact >= 0) return exact;
  const inside = leaves.filter(startsWithPath);
  const name = `column ${path.join('.')}`;
  if (inside.length > 0)
    throw new InputError(`${name} is a struct of ${listed(inside.map((leaf) => leaf.path.slice(path.length)))}`);
  throw new InputError(`there is no ${name}; the columns are ${listed(leaves.map((leaf) => leaf.path))}`);
}

const LISTED = 40;

function listed(paths: readonly (readonly string[])[]): string {
  const names = paths.slice(0, LISTED).map((path) => path.join('.'));
  const rest = paths.length - names.length;
  return names.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** Meanings that integers, floats and byte arrays may have and still be read as such. */
const READABLE = new Set(['string', 'enum', 'json', 'float16', 'null']);
const READABLE_INTEGER = /^u?int(8|16|32|64)$/;

function checkReadable(leaf: SchemaLeaf, as: 'value' | 'mask', name: string): void {
  const { physicalType, annotation } = leaf.element;
  const isInteger = annotation !== null && READABLE_INTEGER.test(annotation);
  const fitsType =
    annotation === null
      ? physicalType !== 'int96' && physicalType !== 'fixed_len_byte_array'
      : isInteger
        ? physicalType === (annotation.endsWith('64') ? 'int64' : 'int32')
        : READABLE.has(annotation) && fitsAnnotation(leaf, annotation);
  if (!fitsType || leaf.isInMap || leaf.maxRepetition > 1) {
    throw new InputError(`${name} has type ${leaf.type}${fitsType ? '' : ` (${physicalType})`}, which cannot be read`);
  }
  if (as === 'value' || isOnlyNull(leaf)) return;
  if (leaf.maxRepetition === 0) throw new InputError(`${name} has type ${leaf.type}, expected a list of 0 and 1`);
  if (physicalType === 'byte_array') {
    throw new InputError(`${name} has type ${leaf.type}, expected a list of integers or booleans`);
  }
}

/** A column of nulls alone is written with a type that says no more. */
function isOnlyNull(leaf: SchemaLeaf): boolean {
  return leaf.element.annotation === 'null' && leaf.maxRepetition === 0;
}

function fitsAnnotation(leaf: SchemaLeaf, annotation: string): boolean {
  const { physicalType, typeLength } = leaf.element;
  if (annotation === 'null') return true;
  if (annotation === 'float16') return physicalType === 'fixed_len_byte_array' && typeLength === 2;
  return physicalType === 'byte_array';
}
