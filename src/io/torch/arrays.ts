/** Reads tensors and numpy arrays: the ones of a mask, or the single number of a reward. */
import { InputError } from '../../errors.ts';
import type { ByteWindow } from './byte-window.ts';
import { type ElementType, elementsOfDtype, elementsOfStorage, readElement } from './elements.ts';
import { readBytes } from './texts.ts';
import type { TorchArchive } from './torch-archive.ts';
import { type ArrayValue, type MaskCounts, NumpyArrayValue, type PickleValue, TensorValue } from './values.ts';

const CHUNK_SIZE = 1 << 16;
/** Storages may be shared, but not so that reading them takes many times as long as reading the file. */
const READS_OF_FILE = 8;
const READS_FOR_FREE = 1 << 20;

/** Where the elements of an array of one dimension lie. */
interface Elements {
  readonly type: ElementType;
  readonly littleEndian: boolean;
  /** In bytes, from the start of what `read` reads. */
  readonly start: number;
  readonly stride: number;
  readonly count: number;
  /** Bytes of the whole. */
  readonly byteLength: number;
  readonly read: (position: number, count: number) => Uint8Array;
}

export class ArrayReader {
  readonly #window: ByteWindow;
  readonly #archive: TorchArchive;
  #readsLeft: number;

  constructor(window: ByteWindow, archive: TorchArchive) {
    this.#window = window;
    this.#archive = archive;
    this.#readsLeft = READS_FOR_FREE + READS_OF_FILE * archive.byteLength;
  }

  /** null where the array has not one dimension or its elements are not read. */
  countOnes(array: ArrayValue): MaskCounts | null {
    if (array.counts || array.shape.length !== 1) return array.counts;
    const elements = this.#elements(array);
    if (elements) array.counts = this.#count(elements);
    return array.counts;
  }

  /** The number of an array of one element; undefined where it is none. */
  singleNumber(array: ArrayValue): PickleValue | undefined {
    if (!array.shape.every((size) => size === 1)) return undefined;
    const elements = this.#elements(array);
    if (!elements) return undefined;
    this.#spend(1);
    return readElement(
      elements.read(elements.start, elements.type.byteLength),
      0,
      elements.type,
      elements.littleEndian,
    );
  }

  #elements(array: ArrayValue): Elements | null {
    if (array instanceof TensorValue) return this.#ofTensor(array);
    return array instanceof NumpyArrayValue ? this.#ofNumpy(array) : null;
  }

  #ofTensor({ storage, offset, shape, strides }: TensorValue): Elements | null {
    const type = elementsOfStorage(storage.elementType);
    if (!type) return null;
    const count = shape.reduce((product, size) => product * size, 1);
    const stride = shape.length === 1 ? strides[0] : 0;
    const end = count === 0 ? 0 : offset + (count - 1) * stride + 1;
    const entry = this.#archive.storage(storage.key);
    const available = Math.floor(entry.byteLength / type.byteLength);
    if (storage.elementCount > available || end > storage.elementCount) {
      const what = `a tensor needs ${Math.max(end, storage.elementCount)} elements of storage ${JSON.stringify(storage.key)}`;
      throw new InputError(`${what}, which has ${Math.min(available, storage.elementCount)}`);
    }
    return {
      ...{ type, littleEndian: true, count, byteLength: entry.byteLength, read: entry.read },
      ...{ start: offset * type.byteLength, stride: stride * type.byteLength },
    };
  }

  #ofNumpy({ shape, dtype, bytes }: NumpyArrayValue): Elements | null {
    const type = dtype && elementsOfDtype(dtype);
    if (!type || !bytes) return null;
    const count = shape.reduce((product, size) => product * size, 1);
    this.#spend(bytes.byteLength);
    const stored = readBytes(this.#window, bytes);
    if (stored.length !== count * type.byteLength) {
      const message = `numpy array of ${count} ${dtype.code} has ${stored.length} bytes`;
      throw this.#window.error(message, bytes.position);
    }
    return {
      ...{ type, littleEndian: !dtype.isBigEndian, count, byteLength: stored.length, start: 0 },
      ...{ stride: type.byteLength, read: (position, length) => stored.subarray(position, position + length) },
    };
  }

  #count(elements: Elements): MaskCounts {
    const { type, start, stride, count, byteLength, littleEndian } = elements;
    const visited = stride === 0 ? Math.min(count, 1) : count;
    this.#spend(visited);
    const chunkSize = stride > CHUNK_SIZE ? type.byteLength : CHUNK_SIZE;
    let view: DataView = new DataView(new ArrayBuffer(0));
    let chunkStart = 0;
    let ones = 0;
    for (let i = 0; i < visited; i++) {
      const offset = start + i * stride;
      if (offset + type.byteLength > chunkStart + view.byteLength) {
        const chunk = elements.read(offset, Math.min(chunkSize, byteLength - offset));
        view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        chunkStart = offset;
      }
      const value = type.read(view, offset - chunkStart, littleEndian);
      if (value === 1 || value === true) ones++;
      else if (value !== 0 && value !== false)
        return { ones, length: count, invalid: { entry: i, found: String(value) } };
    }
    return { ones: stride === 0 ? ones * count : ones, length: count, invalid: null };
  }

  #spend(reads: number): void {
    this.#readsLeft -= reads;
    if (this.#readsLeft < 0)
      throw new InputError(
        `arrays share storages so often that reading them would mean to read the file ${READS_OF_FILE} times`,
      );
  }
}
