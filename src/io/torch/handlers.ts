/** What each opcode does to the machine. Opcodes without a handler are refused by name. */
import {
  readDecimalLine,
  readFloat64,
  readInt32,
  readLength,
  readLine,
  readLong,
  readUint8,
  readUint16,
  readUint32,
} from './arguments.ts';
import { addEntries, addItems } from './containers.ts';
import type { Machine } from './machine.ts';
import { Op } from './opcodes.ts';
import { build, makeObject, persistentValue, reduce } from './reconstruct.ts';
import { readName } from './texts.ts';
import {
  BytesValue,
  DictValue,
  FloatValue,
  GlobalValue,
  ListValue,
  ObjectValue,
  OpaqueValue,
  type PickleValue,
  TextValue,
} from './values.ts';

type Handler = (machine: Machine, opcode: number) => void;

export const HANDLERS: readonly (Handler | undefined)[] = (() => {
  const table = new Array<Handler | undefined>(256).fill(undefined);
  const on = (opcode: number, handle: Handler) => (table[opcode] = handle);
  addStructure(on);
  addScalars(on);
  addSpans(on);
  addContainers(on);
  addObjects(on);
  return table;
})();

function addStructure(on: (opcode: number, handle: Handler) => void): void {
  on(Op.PROTO, ({ window }) => {
    const protocol = readUint8(window);
    if (protocol > 5) throw window.error(`pickle protocol is ${protocol}, expected 2 to 5`);
  });
  on(Op.FRAME, ({ window }) => window.skip(8));
  on(Op.MARK, (machine) => machine.mark());
  on(Op.POP, (machine) => {
    const { stack, marks } = machine;
    if (marks.length > 0 && marks[marks.length - 1] === stack.length) machine.popMark();
    else machine.pop();
  });
  on(Op.POP_MARK, (machine) => machine.popItems());
  on(Op.DUP, (machine) => machine.push(machine.top()));
  on(Op.PUT, (machine) => machine.store(readDecimalLine(machine.window)));
  on(Op.BINPUT, (machine) => machine.store(readUint8(machine.window)));
  on(Op.LONG_BINPUT, (machine) => machine.store(readUint32(machine.window)));
  on(Op.MEMOIZE, (machine) => machine.store(null));
  on(Op.GET, (machine) => machine.fetch(readDecimalLine(machine.window)));
  on(Op.BINGET, (machine) => machine.fetch(readUint8(machine.window)));
  on(Op.LONG_BINGET, (machine) => machine.fetch(readUint32(machine.window)));
}

function addScalars(on: (opcode: number, handle: Handler) => void): void {
  on(Op.NONE, (machine) => machine.push(null));
  on(Op.NEWTRUE, (machine) => machine.push(true));
  on(Op.NEWFALSE, (machine) => machine.push(false));
  on(Op.BININT, (machine) => machine.push(readInt32(machine.window)));
  on(Op.BININT1, (machine) => machine.push(readUint8(machine.window)));
  on(Op.BININT2, (machine) => machine.push(readUint16(machine.window)));
  on(Op.LONG1, (machine) => machine.push(readLong(machine.window, 1)));
  on(Op.LONG4, (machine) => machine.push(readLong(machine.window, 4)));
  on(Op.BINFLOAT, (machine) => machine.push(new FloatValue(readFloat64(machine.window))));
}

function addSpans(on: (opcode: number, handle: Handler) => void): void {
  const span =
    (lengthBytes: 1 | 4 | 8, Value: typeof TextValue | typeof BytesValue): Handler =>
    (machine) => {
      const { window } = machine;
      const byteLength = readLength(window, lengthBytes);
      machine.push(new Value(window.position, byteLength));
      window.skip(byteLength);
    };
  on(Op.SHORT_BINUNICODE, span(1, TextValue));
  on(Op.BINUNICODE, span(4, TextValue));
  on(Op.BINUNICODE8, span(8, TextValue));
  on(Op.SHORT_BINSTRING, span(1, TextValue));
  on(Op.BINSTRING, span(4, TextValue));
  on(Op.SHORT_BINBYTES, span(1, BytesValue));
  on(Op.BINBYTES, span(4, BytesValue));
  on(Op.BINBYTES8, span(8, BytesValue));
  on(Op.BYTEARRAY8, span(8, BytesValue));
}

function addContainers(on: (opcode: number, handle: Handler) => void): void {
  on(Op.EMPTY_LIST, (machine) => machine.push(machine.samples.beginList()));
  on(Op.EMPTY_TUPLE, (machine) => machine.push(new ListValue(true)));
  on(Op.EMPTY_DICT, (machine) => {
    machine.samples.beginDict();
    machine.push(new DictValue());
  });
  on(Op.EMPTY_SET, (machine) => machine.push(new OpaqueValue('set')));
  on(Op.LIST, (machine) => pushList(machine, machine.popItems(), false));
  on(Op.TUPLE, (machine) => pushList(machine, machine.popItems(), true));
  for (const opcode of [Op.TUPLE1, Op.TUPLE2, Op.TUPLE3]) {
    on(opcode, (machine) => {
      const items: PickleValue[] = [];
      for (let i = Op.TUPLE1; i <= opcode; i++) items.unshift(machine.pop());
      pushList(machine, items, true);
    });
  }
  on(Op.FROZENSET, (machine) => {
    machine.popItems();
    machine.push(new OpaqueValue('frozenset'));
  });
  on(Op.DICT, (machine) => {
    const items = machine.popItems();
    const dict = new DictValue();
    addEntries(machine, dict, items);
    machine.push(dict);
  });
  on(Op.APPEND, (machine) => {
    const item = machine.pop();
    addItems(machine, machine.top(), [item]);
  });
  on(Op.APPENDS, (machine) => {
    const items = machine.popItems();
    addItems(machine, machine.top(), items);
  });
  on(Op.ADDITEMS, (machine) => {
    machine.popItems();
    machine.top();
  });
  on(Op.SETITEM, (machine) => {
    const value = machine.pop();
    const key = machine.pop();
    addEntries(machine, machine.top(), [key, value]);
  });
  on(Op.SETITEMS, (machine) => {
    const items = machine.popItems();
    addEntries(machine, machine.top(), items);
  });
}

function pushList(machine: Machine, items: readonly PickleValue[], isTuple: boolean): void {
  const list = new ListValue(isTuple);
  addItems(machine, list, items);
  machine.push(list);
}

function addObjects(on: (opcode: number, handle: Handler) => void): void {
  on(Op.GLOBAL, (machine) => {
    const module = readLine(machine.window);
    machine.push(new GlobalValue(module, readLine(machine.window)));
  });
  on(Op.STACK_GLOBAL, (machine) => {
    const name = machine.pop();
    const module = machine.pop();
    const names = [module, name].map((part) => (part instanceof TextValue ? readName(machine.window, part) : null));
    if (names[0] === null || names[1] === null)
      throw machine.error('STACK_GLOBAL needs the names of a module and of a class');
    machine.push(new GlobalValue(names[0], names[1]));
  });
  on(Op.REDUCE, (machine) => {
    const args = machine.pop();
    machine.push(reduce(machine, machine.pop(), args));
  });
  on(Op.NEWOBJ, (machine) => {
    const args = machine.pop();
    machine.push(makeObject(machine.pop(), args));
  });
  on(Op.NEWOBJ_EX, (machine) => {
    machine.pop();
    const args = machine.pop();
    machine.push(makeObject(machine.pop(), args));
  });
  on(Op.OBJ, (machine) => {
    const [callable = null] = machine.popItems();
    machine.push(makeObject(callable, null));
  });
  on(Op.INST, (machine) => {
    const { window } = machine;
    const className = `${readLine(window)}.${readLine(window)}`;
    machine.popItems();
    machine.push(new ObjectValue(className));
  });
  on(Op.BUILD, (machine) => {
    const state = machine.pop();
    build(machine, machine.top(), state);
  });
  on(Op.BINPERSID, (machine) => machine.push(persistentValue(machine, machine.pop())));
  for (const [opcode, byteLength] of [
    [Op.EXT1, 1],
    [Op.EXT2, 2],
    [Op.EXT4, 4],
  ]) {
    on(opcode, (machine) => {
      machine.window.skip(byteLength);
      machine.push(new OpaqueValue('class of a registered extension'));
    });
  }
}
