/** Where the entries of lists and the bytes of texts lie: offsets that are checked once and then relied on. */
import { InputError } from '../../errors.ts';
import { allocate, type RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';

export type Positions = Int32Array | Uint32Array | Float64Array;

/** Entry i of the rows reaches from starts[i] to ends[i], in order and without overlap. */
export interface Extents {
  readonly starts: Positions;
  readonly ends: Positions;
}

/** The offsets of rows [start..start + count] of a list or text field: they never fall. */
export function readOffsets(batch: RecordBatch, field: ArrowField, start: number, count: number): Positions {
  // Without rows there need not be a first offset.
  if (count === 0) return new Float64Array(1);
  const what = `offsets of ${field.name}`;
  const isLarge = LARGE.has(field.typeId);
  const offsets = readPositions(batch, batch.bufferIndex(field, 1), start, count + 1, isLarge, what);
  let previous = 0;
  for (let i = 0; i <= count; i++) {
    const offset = offsets[i];
    if (!(offset >= previous))
      throw new InputError(
        `${batch.place}: the ${what} are malformed: ${offset} at entry ${start + i}, expected ${previous} or more`,
      );
    previous = offset;
  }
  return offsets;
}

/** The extents of rows [start..start + count) of any list field, within its child's entries. */
export function readExtents(batch: RecordBatch, field: ArrowField, start: number, count: number): Extents {
  const childLength = batch.node(field.children[0].nodeIndex).length;
  const extents = extentsOf(batch, field, start, count);
  const end = count === 0 ? 0 : extents.ends[count - 1];
  if (end > childLength)
    throw new InputError(
      `${batch.place}: the lists of ${field.name} end at entry ${end}, but there are ${childLength} entries`,
    );
  return extents;
}

function extentsOf(batch: RecordBatch, field: ArrowField, start: number, count: number): Extents {
  if (count === 0) return { starts: new Float64Array(0), ends: new Float64Array(0) };
  if (field.typeId === TypeId.fixedSizeList) return fixedExtents(batch, field.parameters.size, start, count);
  if (field.typeId === TypeId.listView || field.typeId === TypeId.largeListView)
    return viewExtents(batch, field, start, count);
  const offsets = readOffsets(batch, field, start, count);
  return { starts: offsets.subarray(0, count), ends: offsets.subarray(1) };
}

function fixedExtents(batch: RecordBatch, size: number, start: number, count: number): Extents {
  const bounds = allocate(count + 1, batch.place, (length) => new Float64Array(length));
  for (let i = 0; i <= count; i++) bounds[i] = (start + i) * size;
  return { starts: bounds.subarray(0, count), ends: bounds.subarray(1) };
}

/** Views may lie in any order and on one another, and then cost any time to count; writers put them in order. */
function viewExtents(batch: RecordBatch, field: ArrowField, start: number, count: number): Extents {
  const isLarge = LARGE.has(field.typeId);
  const starts = readPositions(batch, batch.bufferIndex(field, 1), start, count, isLarge, `offsets of ${field.name}`);
  const sizes = readPositions(batch, batch.bufferIndex(field, 2), start, count, isLarge, `sizes of ${field.name}`);
  let end = 0;
  for (let i = 0; i < count; i++) {
    const size = sizes[i];
    if (!(size >= 0))
      throw new InputError(
        `${batch.place}: the size of list ${start + i} of ${field.name} is ${size}, expected 0 or more`,
      );
    // An empty view may point anywhere.
    if (size === 0) starts[i] = end;
    else if (!(starts[i] >= end))
      throw new InputError(
        `${batch.place}: list ${start + i} of ${field.name} begins at entry ${starts[i]}, expected ${end} or more: list views must lie in order`,
      );
    end = starts[i] + size;
    sizes[i] = end;
  }
  return { starts, ends: sizes };
}

function readPositions(
  batch: RecordBatch,
  buffer: number,
  start: number,
  count: number,
  isLarge: boolean,
  what: string,
): Positions {
  const width = isLarge ? 8 : 4;
  const bytes = batch.bytes(buffer, start * width, (start + count) * width, what);
  // Copied where the bytes are shared, as views are changed.
  if (!isLarge)
    return allocate(count, batch.place, () => new Int32Array(bytes.buffer, bytes.byteOffset, count).slice());
  const halves = new Int32Array(bytes.buffer, bytes.byteOffset, 2 * count);
  const positions = allocate(count, batch.place, (length) => new Float64Array(length));
  for (let i = 0; i < count; i++) positions[i] = (halves[2 * i] >>> 0) + halves[2 * i + 1] * 2 ** 32;
  return positions;
}

const LARGE = new Set<TypeId>([TypeId.largeList, TypeId.largeListView, TypeId.largeUtf8, TypeId.largeBinary]);
