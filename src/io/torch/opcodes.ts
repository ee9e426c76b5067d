/** The opcodes of pickle protocols 0 to 5, and how the argument of each is stored. */

/** After the opcode follow: so many bytes; a length of so many bytes, then that many; lines of text. */
export type ArgumentForm =
  | { readonly kind: 'fixed'; readonly byteLength: number }
  | { readonly kind: 'counted'; readonly lengthBytes: 1 | 4 | 8 }
  | { readonly kind: 'lines'; readonly count: number };

export interface Opcode {
  readonly code: number;
  readonly name: string;
  readonly form: ArgumentForm;
}

export const Op = {
  MARK: 0x28,
  EMPTY_TUPLE: 0x29,
  STOP: 0x2e,
  POP: 0x30,
  POP_MARK: 0x31,
  DUP: 0x32,
  BINBYTES: 0x42,
  SHORT_BINBYTES: 0x43,
  FLOAT: 0x46,
  BINFLOAT: 0x47,
  INT: 0x49,
  BININT: 0x4a,
  BININT1: 0x4b,
  LONG: 0x4c,
  BININT2: 0x4d,
  NONE: 0x4e,
  PERSID: 0x50,
  BINPERSID: 0x51,
  REDUCE: 0x52,
  STRING: 0x53,
  BINSTRING: 0x54,
  SHORT_BINSTRING: 0x55,
  UNICODE: 0x56,
  BINUNICODE: 0x58,
  EMPTY_LIST: 0x5d,
  APPEND: 0x61,
  BUILD: 0x62,
  GLOBAL: 0x63,
  DICT: 0x64,
  APPENDS: 0x65,
  GET: 0x67,
  BINGET: 0x68,
  INST: 0x69,
  LONG_BINGET: 0x6a,
  LIST: 0x6c,
  OBJ: 0x6f,
  PUT: 0x70,
  BINPUT: 0x71,
  LONG_BINPUT: 0x72,
  SETITEM: 0x73,
  TUPLE: 0x74,
  SETITEMS: 0x75,
  EMPTY_DICT: 0x7d,
  PROTO: 0x80,
  NEWOBJ: 0x81,
  EXT1: 0x82,
  EXT2: 0x83,
  EXT4: 0x84,
  TUPLE1: 0x85,
  TUPLE2: 0x86,
  TUPLE3: 0x87,
  NEWTRUE: 0x88,
  NEWFALSE: 0x89,
  LONG1: 0x8a,
  LONG4: 0x8b,
  SHORT_BINUNICODE: 0x8c,
  BINUNICODE8: 0x8d,
  BINBYTES8: 0x8e,
  EMPTY_SET: 0x8f,
  ADDITEMS: 0x90,
  FROZENSET: 0x91,
  NEWOBJ_EX: 0x92,
  STACK_GLOBAL: 0x93,
  MEMOIZE: 0x94,
  FRAME: 0x95,
  BYTEARRAY8: 0x96,
  NEXT_BUFFER: 0x97,
  READONLY_BUFFER: 0x98,
} as const;

const FIXED: Partial<Record<keyof typeof Op, number>> = {
  ...{ BINFLOAT: 8, BININT: 4, BININT1: 1, BININT2: 2, BINGET: 1, LONG_BINGET: 4, BINPUT: 1, LONG_BINPUT: 4 },
  ...{ PROTO: 1, EXT1: 1, EXT2: 2, EXT4: 4, FRAME: 8 },
};
const COUNTED: Partial<Record<keyof typeof Op, 1 | 4 | 8>> = {
  ...{ SHORT_BINBYTES: 1, SHORT_BINSTRING: 1, SHORT_BINUNICODE: 1, LONG1: 1 },
  ...{ BINBYTES: 4, BINSTRING: 4, BINUNICODE: 4, LONG4: 4, BINBYTES8: 8, BINUNICODE8: 8, BYTEARRAY8: 8 },
};
const LINES: Partial<Record<keyof typeof Op, number>> = {
  ...{ FLOAT: 1, INT: 1, LONG: 1, PERSID: 1, STRING: 1, UNICODE: 1, GET: 1, PUT: 1, GLOBAL: 2, INST: 2 },
};

function formOf(name: keyof typeof Op): ArgumentForm {
  const lengthBytes = COUNTED[name];
  if (lengthBytes) return { kind: 'counted', lengthBytes };
  const count = LINES[name];
  return count ? { kind: 'lines', count } : { kind: 'fixed', byteLength: FIXED[name] ?? 0 };
}

/** By code; undefined where no opcode has it. */
export const OPCODES: readonly (Opcode | undefined)[] = (() => {
  const table = new Array<Opcode | undefined>(256).fill(undefined);
  for (const name of Object.keys(Op) as (keyof typeof Op)[])
    table[Op[name]] = { code: Op[name], name, form: formOf(name) };
  return table;
})();

/** Names an opcode for messages. */
export function opcodeName(code: number): string {
  return OPCODES[code]?.name ?? `0x${code.toString(16).padStart(2, '0')}`;
}
