/** The Thrift struct in front of every page. */
import { InputError } from '../../errors.ts';
import { checkType, ThriftReader, ThriftType } from './thrift.ts';

export interface PageHeader {
  kind: 'data' | 'data2' | 'dictionary' | 'index';
  storedLength: number;
  plainLength: number;
  /** CRC-32 of the stored bytes, or null where it was not written. */
  crc: number | null;
  entryCount: number;
  /** Of version 2, else -1. */
  rowCount: number;
  encoding: number;
  /** Encodings of the levels, of version 1. */
  definitionEncoding: number;
  repetitionEncoding: number;
  /** Lengths of the levels, of version 2. */
  definitionLength: number;
  repetitionLength: number;
  isCompressed: boolean;
}

const KINDS = ['data', 'index', 'dictionary', 'data2'] as const;
/** The field of the header struct that belongs to each kind. */
const KIND_FIELDS = [5, 6, 7, 8];

/** Reads a header at the start of the bytes. */
export function readPageHeader(bytes: Uint8Array, place: string): { header: PageHeader; byteLength: number } {
  const reader = new ThriftReader(bytes, 0, bytes.length, `${place}: its header`);
  const header = emptyHeader();
  let type = -1;
  let body = -1;
  reader.struct((id, found) => {
    if (id <= 4) {
      checkType(found, ThriftType.i32, place);
      const value = reader.integer();
      if (id === 1) type = value;
      else if (id === 2) header.plainLength = value;
      else if (id === 3) header.storedLength = value;
      else header.crc = value >>> 0;
      return true;
    }
    if (!KIND_FIELDS.includes(id)) return false;
    checkType(found, ThriftType.struct, place);
    readBody(reader, id, header);
    body = id;
    return true;
  });
  if (!(type in KINDS)) throw new InputError(`${place}: is of unknown type ${type}`);
  header.kind = KINDS[type];
  if (header.kind !== 'index' && body !== KIND_FIELDS[type]) throw new InputError(`${place}: its header is incomplete`);
  if (header.plainLength < 0 || header.storedLength < 0 || header.entryCount < 0) {
    throw new InputError(`${place}: its header gives no lengths`);
  }
  return { header, byteLength: reader.position };
}

function emptyHeader(): PageHeader {
  return {
    kind: 'data',
    storedLength: -1,
    plainLength: -1,
    crc: null,
    entryCount: -1,
    rowCount: -1,
    encoding: -1,
    definitionEncoding: -1,
    repetitionEncoding: -1,
    definitionLength: -1,
    repetitionLength: -1,
    isCompressed: true,
  };
}

function readBody(reader: ThriftReader, kindField: number, header: PageHeader): void {
  if (kindField === 6) {
    header.entryCount = 0;
    reader.skip(ThriftType.struct);
    return;
  }
  const isVersion2 = kindField === 8;
  reader.struct((id, found) => {
    if (isVersion2 && id === 7 && (found === ThriftType.true || found === ThriftType.false)) {
      header.isCompressed = reader.boolean();
      return true;
    }
    if (found !== ThriftType.i32) return false;
    const value = reader.integer();
    if (id === 1) header.entryCount = value;
    else if (isVersion2) setVersion2(header, id, value);
    else if (id === 2) header.encoding = value;
    else if (id === 3) header.definitionEncoding = value;
    else if (id === 4) header.repetitionEncoding = value;
    return true;
  });
}

function setVersion2(header: PageHeader, id: number, value: number): void {
  if (id === 3) header.rowCount = value;
  else if (id === 4) header.encoding = value;
  else if (id === 5) header.definitionLength = value;
  else if (id === 6) header.repetitionLength = value;
}
