/** The parts of a torch file: the pickle, and the storages that its tensors refer to. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import { ByteWindow } from './byte-window.ts';
import { findDirectory, locateEntry, readEntries, type ZipDirectory, type ZipEntry } from './zip-directory.ts';

const PICKLE_NAME = 'data.pkl';
/** How a pickle of a LONG1 starts that holds the number 0x1950a86a20f9469cfc6c, as torch wrote files up to 1.5. */
const LEGACY_START = [0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
const MOST_STORAGES = 1 << 20;

export interface StoredBytes {
  readonly byteLength: number;
  /** Bytes from a position in the entry on, which must hold them. */
  readonly read: (position: number, count: number) => Uint8Array;
}

export interface TorchArchive {
  readonly byteLength: number;
  openPickle(): ByteWindow;
  /** @throws InputError where there is none of that key, or not as it should be */
  storage(key: string): StoredBytes;
}

export function openTorchArchive(file: RandomAccessFile): TorchArchive {
  refuseLegacy(file);
  const directory = findDirectory(file);
  const { pickle, byteOrder, storages } = collectEntries(file, directory);
  const pickleStart = locateEntry(file, directory, pickle);
  requireLittleEndian(file, directory, byteOrder);
  const opened = new Map<string, StoredBytes>();
  return {
    byteLength: file.byteLength,
    openPickle: () => new ByteWindow(file, pickleStart, pickle.byteLength, pickle.name),
    storage(key) {
      let found = opened.get(key);
      if (found) return found;
      const name = storagePrefix(pickle) + key;
      const place = storages.get(key);
      if (!place) throw new InputError(`a tensor refers to ZIP entry ${JSON.stringify(name)}, which does not exist`);
      found = openStored(file, directory, place);
      // Storages are mostly asked for in turn; the last few are enough.
      if (opened.size >= 64) opened.clear();
      opened.set(key, found);
      return found;
    },
  };
}

function openStored(file: RandomAccessFile, directory: ZipDirectory, entry: ZipEntry): StoredBytes {
  const start = locateEntry(file, directory, entry);
  return {
    byteLength: entry.byteLength,
    read(position, count) {
      const bytes = new Uint8Array(count);
      file.readInto(bytes, start + position);
      return bytes;
    },
  };
}

function storagePrefix(pickle: ZipEntry): string {
  return `${pickle.name.slice(0, -PICKLE_NAME.length)}data/`;
}

function refuseLegacy(file: RandomAccessFile): void {
  const start = new Uint8Array(Math.min(file.byteLength, LEGACY_START.length));
  file.readInto(start, 0);
  if (start.length === LEGACY_START.length && LEGACY_START.every((byte, i) => start[i] === byte)) {
    throw new InputError(
      'is a torch file in the old format that is no ZIP file; load it and save it again with torch 1.6 or later',
    );
  }
  if (start[0] === 0x50 && start[1] === 0x4b) return;
  throw new InputError('expected a torch file, which is a ZIP file, found something else');
}

interface Entries {
  readonly pickle: ZipEntry;
  readonly byteOrder: ZipEntry | null;
  readonly storages: ReadonlyMap<string, ZipEntry>;
}

function collectEntries(file: RandomAccessFile, directory: ZipDirectory): Entries {
  let pickle: ZipEntry | null = null;
  const byteOrders = new Map<string, ZipEntry>();
  const storages = new Map<string, ZipEntry>();
  let hasConstants = false;
  let storagesPrefix = '';
  for (const entry of readEntries(file, directory)) {
    const { name } = entry;
    if (name === PICKLE_NAME || name.endsWith(`/${PICKLE_NAME}`)) {
      if (pickle)
        throw new InputError(`has two pickles: ZIP entries ${JSON.stringify(pickle.name)} and ${JSON.stringify(name)}`);
      pickle = entry;
    } else if (name === 'byteorder' || name.endsWith('/byteorder')) byteOrders.set(name, entry);
    else if (name.endsWith('/constants.pkl')) hasConstants = true;
    const data = /^(.*\/|)data\/([^/]+)$/s.exec(name);
    if (!data) continue;
    storagesPrefix ||= data[1];
    if (data[1] === storagesPrefix) storages.set(data[2], entry);
    if (storages.size > MOST_STORAGES) throw new InputError(`has more than ${MOST_STORAGES} storages`);
  }
  if (!pickle) throw new InputError('has no ZIP entry data.pkl: it is no torch file');
  if (hasConstants) throw new InputError('is a TorchScript program, not data');
  const prefix = pickle.name.slice(0, -PICKLE_NAME.length);
  if (storages.size > 0 && storagesPrefix !== prefix) storages.clear();
  return { pickle, byteOrder: byteOrders.get(`${prefix}byteorder`) ?? null, storages };
}

function requireLittleEndian(file: RandomAccessFile, directory: ZipDirectory, entry: ZipEntry | null): void {
  if (!entry) return;
  const start = locateEntry(file, directory, entry);
  const bytes = new Uint8Array(Math.min(entry.byteLength, 16));
  file.readInto(bytes, start);
  const order = Buffer.from(bytes).toString('latin1');
  if (order !== 'little') throw new InputError(`byte order is ${JSON.stringify(order)}, expected "little"`);
}
