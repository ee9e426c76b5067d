/** Slot numbers of the tables in Arrow's Message.fbs, Schema.fbs and File.fbs, and the constants that go with them. */

export const MessageSlot = { version: 0, headerType: 1, header: 2, bodyLength: 3, customMetadata: 4 } as const;
export const SchemaSlot = { endianness: 0, fields: 1, customMetadata: 2, features: 3 } as const;
export const FieldSlot = { name: 0, nullable: 1, typeType: 2, type: 3, dictionary: 4, children: 5 } as const;
export const DictionaryEncodingSlot = { id: 0, indexType: 1 } as const;
export const RecordBatchSlot = { length: 0, nodes: 1, buffers: 2, compression: 3, variadicCounts: 4 } as const;
export const DictionaryBatchSlot = { id: 0, data: 1, isDelta: 2 } as const;
export const FooterSlot = { version: 0, schema: 1, dictionaries: 2, batches: 3, customMetadata: 4 } as const;

export const HeaderType = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;
/** MetadataVersion: V4 came with Arrow 0.8, V5 with 1.0; the ones before were never stable. */
export const OLDEST_METADATA = 3;
export const NEWEST_METADATA = 4;
/** The version that new files get. */
export const METADATA_V5 = 4;

/** Members of the Type union. */
export const TypeId = {
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  union: 14,
  fixedSizeBinary: 15,
  fixedSizeList: 16,
  map: 17,
  duration: 18,
  largeBinary: 19,
  largeUtf8: 20,
  largeList: 21,
  runEndEncoded: 22,
  binaryView: 23,
  utf8View: 24,
  listView: 25,
  largeListView: 26,
} as const;
export type TypeId = (typeof TypeId)[keyof typeof TypeId];
