/** Writes Thrift's compact protocol, and copies structs with some of their fields changed. */
import { checkType, type ThriftReader, ThriftType } from './thrift.ts';

export class ThriftWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;
  /** Last field number of each struct that is open. */
  readonly #lastIds: number[] = [];

  /** What was written, as a view. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A struct as an element of a list, or as the whole. */
  struct(writeFields: () => void): void {
    this.#lastIds.push(0);
    writeFields();
    this.#lastIds.pop();
    this.#byte(ThriftType.stop);
  }

  /** The header of a field, whose value comes next. */
  field(id: number, type: number): void {
    const open = this.#lastIds.length - 1;
    const delta = id - this.#lastIds[open];
    this.#lastIds[open] = id;
    if (delta > 0 && delta <= 15) {
      this.#byte((delta << 4) | type);
    } else {
      this.#byte(type);
      this.#zigzag(id);
    }
  }

  int32(id: number, value: number): void {
    this.field(id, ThriftType.i32);
    this.#zigzag(value);
  }

  int64(id: number, value: number): void {
    this.field(id, ThriftType.i64);
    this.#zigzag(value);
  }

  byte(id: number, value: number): void {
    this.field(id, ThriftType.byte);
    this.#byte(value);
  }

  boolean(id: number, value: boolean): void {
    this.field(id, value ? ThriftType.true : ThriftType.false);
  }

  text(id: number, value: string): void {
    this.field(id, ThriftType.binary);
    this.textElement(value);
  }

  structField(id: number, writeFields: () => void): void {
    this.field(id, ThriftType.struct);
    this.struct(writeFields);
  }

  /** The header of a list field, whose elements come next. */
  list(id: number, elementType: number, count: number): void {
    this.field(id, ThriftType.list);
    if (count < 15) {
      this.#byte((count << 4) | elementType);
    } else {
      this.#byte(0xf0 | elementType);
      this.#varint(count);
    }
  }

  int32Element(value: number): void {
    this.#zigzag(value);
  }

  textElement(value: string): void {
    const bytes = new TextEncoder().encode(value);
    this.#varint(bytes.length);
    this.raw(bytes);
  }

  /** Bytes that are encoded already. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #zigzag(value: number): void {
    this.#varint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#byte((rest % 0x80) | 0x80);
    this.#byte(rest);
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  #reserve(byteLength: number): void {
    const needed = this.#length + byteLength;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.bytes);
    this.#bytes = larger;
  }
}

/** What to do with a field that `copyFields` comes to: true when it was read, and written anew or left out. */
export type FieldEdit = (id: number, type: number) => boolean;

/** Copies the fields of the struct at the reader, byte for byte where `edit` does not want them; unknown ones too. */
export function copyFields(reader: ThriftReader, writer: ThriftWriter, edit: FieldEdit): void {
  reader.struct((id, type) => {
    if (edit(id, type)) return true;
    const start = reader.position;
    reader.skip(type);
    writer.field(id, type);
    writer.raw(reader.bytes.subarray(start, reader.position));
    return true;
  });
}

/** Reads the list at the reader as the bytes of its elements, which are structs. */
export function elementSpans(reader: ThriftReader): Uint8Array[] {
  const spans: Uint8Array[] = [];
  reader.list((_, type) => {
    checkType(type, ThriftType.struct, 'a list of structs');
    const start = reader.position;
    reader.skip(type);
    spans.push(reader.bytes.subarray(start, reader.position));
  });
  return spans;
}
