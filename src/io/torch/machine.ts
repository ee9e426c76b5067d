/** The stack machine of a pickle: it runs opcodes on inert values and hands samples out as they are finished. */
import type { InputError } from '../../errors.ts';
import { readUint8 } from './arguments.ts';
import type { ByteWindow } from './byte-window.ts';
import { HANDLERS } from './handlers.ts';
import type { Memo } from './memo.ts';
import { NumberRun } from './number-run.ts';
import { Op, opcodeName } from './opcodes.ts';
import { SampleStream, WrongGuess } from './sample-stream.ts';
import { countKept } from './survey.ts';
import { ListValue, type Node, type PickleValue, TextValue } from './values.ts';

/** Picklers write lists and dicts in batches of 1,000; only long tuples need more at once. */
const MOST_ON_STACK = 1 << 18;
const MOST_MARKS = 10_000;
/** Values made in a period of the memo; some hundreds of samples. */
const PERIOD = 1 << 16;
const PERIODS_TO_SURVEY = 8;
/** Units of the survey kept at once, some 100 MB. */
const MOST_KEPT = 1 << 21;
/** Short texts are kept for good in so many spellings: as keys and states they come back over any distance. */
const MOST_SPELLINGS = 1 << 14;
const LONGEST_SPELLING = 32;
/** In longer tuples plain numbers are only counted. */
const MOST_NUMBERS_IN_TUPLE = 64;

export class Machine {
  readonly window: ByteWindow;
  readonly memo: Memo;
  readonly samples: SampleStream;
  readonly stack: PickleValue[] = [];
  readonly marks: number[] = [];
  readonly #run = new NumberRun();
  readonly #spellings = new Set<string>();
  #madeInPeriod = 0;
  #periods = 0;
  #opcode = 0;

  constructor(window: ByteWindow, memo: Memo, deliver: (sample: PickleValue) => void, isPatient: boolean) {
    this.window = window;
    this.memo = memo;
    this.samples = new SampleStream(this, deliver, isPatient);
  }

  /** Runs to STOP and returns the value that is then on the stack. @throws InputError, ForgottenValue, WrongGuess */
  run(): PickleValue {
    for (;;) {
      this.#opcode = readUint8(this.window);
      if (this.#opcode === Op.STOP) return this.pop();
      const handle = HANDLERS[this.#opcode];
      if (!handle) throw this.error(`opcode ${opcodeName(this.#opcode)} is not read in pickles of protocol 2 to 5`);
      handle(this, this.#opcode);
    }
  }

  push(value: PickleValue): void {
    if (this.stack.length >= MOST_ON_STACK) throw this.error(`holds more than ${MOST_ON_STACK} unfinished values`);
    this.stack.push(value);
    if (++this.#madeInPeriod >= PERIOD) this.#endPeriod();
  }

  pop(): PickleValue {
    const top = this.top();
    this.stack.pop();
    return top;
  }

  /** The topmost value above the last mark. */
  top(): PickleValue {
    const { stack, marks } = this;
    const floor = marks.length > 0 ? marks[marks.length - 1] : 0;
    if (stack.length <= floor && this.samples.hasBegun(floor)) throw new WrongGuess();
    if (stack.length <= floor) throw this.error(`${opcodeName(this.#opcode)} needs a value, but there is none`);
    return stack[stack.length - 1];
  }

  /** Takes the last mark away and returns where the values above it begin. */
  popMark(): number {
    const start = this.marks.pop();
    if (start === undefined) throw this.error(`${opcodeName(this.#opcode)} needs a mark, but there is none`);
    this.samples.endBatch(start, this.#opcode);
    return start;
  }

  popItems(): PickleValue[] {
    return this.stack.splice(this.popMark());
  }

  /** Handles MARK: plain numbers that fill a list or a tuple are counted at once, if they are those of a sample. */
  mark(): void {
    const { window, stack, marks } = this;
    const start = window.position;
    const target = stack[stack.length - 1];
    if (this.samples.isInside() && this.#run.scan(window) > 0 && this.#run.count > 0 && this.#endRun(target)) return;
    window.seek(start);
    if (marks.length >= MOST_MARKS) throw this.error(`values are nested more than ${MOST_MARKS} deep`);
    marks.push(stack.length);
  }

  /** Completes a list or tuple of numbers; false where something else follows. */
  #endRun(target: PickleValue): boolean {
    const opcode = this.window.bytes[this.window.cursor];
    const floor = this.marks[this.marks.length - 1] ?? 0;
    if (opcode === Op.APPENDS && target instanceof ListValue && !target.isStreamed && this.stack.length > floor) {
      this.requireChangeable(target);
      this.#addRun(target);
    } else if (opcode === Op.TUPLE && this.#run.count > MOST_NUMBERS_IN_TUPLE) {
      const tuple = new ListValue(true);
      this.#addRun(tuple);
      this.push(tuple);
    } else return false;
    this.window.cursor++;
    return true;
  }

  #addRun(list: ListValue): void {
    const { count, ones, invalidEntry, invalidFound } = this.#run;
    if (list.invalidEntry < 0 && invalidEntry >= 0) {
      list.invalidEntry = list.length + invalidEntry;
      list.invalidFound = invalidFound;
    }
    list.length += count;
    list.ones += ones;
    list.items = null;
  }

  requireChangeable(value: Node): void {
    if (value.isDelivered) throw this.error(`a ${value.typeName} is changed after the sample that holds it`);
  }

  store(index: number | null): void {
    const value = this.top();
    if (++this.#madeInPeriod >= PERIOD) this.#endPeriod();
    const lasts = value instanceof TextValue && this.#isNewSpelling(value);
    if (index === null) this.memo.storeNext(value, lasts);
    else this.memo.store(index, value, lasts);
  }

  #isNewSpelling(value: TextValue): boolean {
    if (value.byteLength > LONGEST_SPELLING || this.#spellings.size >= MOST_SPELLINGS) return false;
    const spelling = Buffer.from(this.window.read(value.position, value.byteLength)).toString('latin1');
    if (this.#spellings.has(spelling)) return false;
    this.#spellings.add(spelling);
    return true;
  }

  fetch(index: number): void {
    const value = this.memo.get(index);
    if (value === undefined) throw this.error(`asks for memo entry ${index}, which does not exist`);
    this.push(value);
  }

  #endPeriod(): void {
    this.#madeInPeriod = 0;
    this.memo.age();
    if (++this.#periods % PERIODS_TO_SURVEY !== 0) return;
    const kept = countKept(this.stack, this.memo.kept(), MOST_KEPT);
    if (kept > MOST_KEPT) throw this.error(`the values that are not in a list of samples are too many to keep`);
  }

  error(message: string): InputError {
    return this.window.error(message, Math.max(0, this.window.position - 1));
  }
}
