/** Arrow streams put together by hand, to hold what no library would write. */
import {
  alignUp,
  type FlatNode,
  int8,
  int16,
  int32,
  int64,
  longs,
  offset,
  offsets,
  serialize,
  table,
  text,
} from '../../../src/io/arrow/flatbuffer-writer.ts';
import { encapsulate } from '../../../src/io/arrow/schema-message.ts';
import { HeaderType, METADATA_V5, TypeId } from '../../../src/io/arrow/slots.ts';

export interface HandmadeField {
  readonly name: string;
  readonly type: TypeId;
  readonly parameters?: FlatNode;
  readonly children?: readonly FlatNode[];
  readonly dictionary?: FlatNode;
}

export function field({ name, type, parameters, children, dictionary }: HandmadeField): FlatNode {
  return table(
    offset(text(name)),
    int8(1),
    int8(type),
    offset(parameters ?? table()),
    dictionary === undefined ? null : offset(dictionary),
    offset(offsets(children ?? [])),
  );
}

export const int = (name: string, bits = 64): FlatNode =>
  field({ name, type: TypeId.int, parameters: table(int32(bits), int8(1)) });

export const list = (name: string, type: TypeId, child: FlatNode): FlatNode => field({ name, type, children: [child] });

/** A utf8 field whose int8 indices lead into a dictionary. */
export const encoded = (name: string, id: number): FlatNode =>
  field({ name, type: TypeId.utf8, dictionary: table(int64(id), offset(table(int32(8), int8(1)))) });

export function schema(fields: readonly FlatNode[], { endianness = 0, version = METADATA_V5 } = {}): Uint8Array {
  const header = table(int16(endianness), offset(offsets(fields)));
  return message(HeaderType.schema, header, [], version);
}

export interface HandmadeBatch {
  readonly rowCount: number;
  /** Length and null count of each. */
  readonly nodes: readonly number[];
  readonly buffers: readonly ArrayBufferView[];
  /** Start and length of each, where they shall not be those of the buffers. */
  readonly places?: readonly number[];
  readonly codec?: number;
  readonly viewBufferCounts?: readonly number[];
}

export function batch(content: HandmadeBatch): Uint8Array {
  return message(HeaderType.recordBatch, batchTable(content), content.buffers);
}

/** A stream of one batch; what is not said is a column "a" of 1 and 2. */
export function ints(content: Partial<HandmadeBatch>, fields: readonly FlatNode[] = [int('a')]): Uint8Array {
  return stream(schema(fields), batch({ ...TWO_INTS, ...content }));
}

export const TWO_INTS: HandmadeBatch = {
  rowCount: 2,
  nodes: [2, 0],
  buffers: [new Uint8Array(0), BigInt64Array.of(1n, 2n)],
};

export function dictionary(id: number, content: HandmadeBatch, isDelta = false): Uint8Array {
  const header = table(int64(id), offset(batchTable(content)), int8(isDelta ? 1 : 0));
  return message(HeaderType.dictionaryBatch, header, content.buffers);
}

export function stream(...messages: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(messages));
}

function batchTable({ rowCount, nodes, buffers, places, codec, viewBufferCounts }: HandmadeBatch): FlatNode {
  let end = 0;
  const ownPlaces = buffers.flatMap(({ byteLength }) => {
    const start = end;
    end += alignUp(byteLength, 8);
    return [start, byteLength];
  });
  return table(
    int64(rowCount),
    offset(longs(nodes, 2)),
    offset(longs(places ?? ownPlaces, 2)),
    codec === undefined ? null : offset(table(int8(codec), int8(0))),
    viewBufferCounts === undefined ? null : offset(longs(viewBufferCounts, 1)),
  );
}

function message(
  type: number,
  header: FlatNode,
  buffers: readonly ArrayBufferView[],
  version: number = METADATA_V5,
): Uint8Array {
  const body = Buffer.concat(
    buffers.map(({ buffer, byteOffset, byteLength }) => {
      const padded = new Uint8Array(alignUp(byteLength, 8));
      padded.set(new Uint8Array(buffer, byteOffset, byteLength));
      return padded;
    }),
  );
  const root = table(int16(version), int8(type), offset(header), int64(body.length));
  return Buffer.concat([encapsulate(serialize(root), 8), body]);
}
