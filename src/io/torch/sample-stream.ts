/** Recognizes the list of samples while it is being built and hands its entries out one by one. */
import type { Machine } from './machine.ts';
import { Op } from './opcodes.ts';
import { readText } from './texts.ts';
import { DictValue, ListValue, type PickleValue, TextValue } from './values.ts';

/** Samples were handed out that are not entries of the list: the pickle must be read again, waiting for each batch's end. */
export class WrongGuess extends Error {}

const SAMPLES = 'samples';
/** With more entries waiting than this, one of them is of a kind that waits for its batch to end. */
const MOST_WAITING = 4;
const DEEPEST_GROUP = 16;

export class SampleStream {
  /** The outermost list of samples. */
  root: ListValue | null = null;
  /** Whether samples lie in lists inside the list of samples. */
  isNested = false;
  readonly #machine: Machine;
  readonly #deliver: (sample: PickleValue) => void;
  readonly #isPatient: boolean;
  #rootIndex = 0;
  /** Where the entries begin of the batches of which some have been handed out before their end. */
  readonly #begunBatches: number[] = [];
  #unattachedGroups = 0;

  /** @param isPatient hands samples out when their batch ends, and not before the next of them begins */
  constructor(machine: Machine, deliver: (sample: PickleValue) => void, isPatient: boolean) {
    this.#machine = machine;
    this.#deliver = deliver;
    this.#isPatient = isPatient;
  }

  /** Whether the machine is building samples, several of them. */
  isInside(): boolean {
    const { marks } = this.#machine;
    return this.root !== null && (marks[0] === this.#rootIndex + 1 || marks[1] === this.#rootIndex + 1);
  }

  /** A new list for the top of the stack. */
  beginList(): ListValue {
    const { stack } = this.#machine;
    const list = new ListValue();
    if (this.root) {
      list.isStreamed = this.#isNextEntry();
      if (list.isStreamed) this.#unattachedGroups++;
    } else if (this.#isSamplePlace()) {
      this.root = list;
      this.#rootIndex = stack.length;
      list.isStreamed = true;
      // It is no entry of itself.
      list.isDelivered = true;
    }
    if (list.isStreamed) list.items = null;
    return list;
  }

  /** Before a dict begins: what waits in front of it is finished, if it is samples. */
  beginDict(): void {
    if (this.root) this.#isNextEntry();
  }

  /** Takes entries of a streamed list at the end of a batch, or one by one. */
  append(list: ListValue, items: readonly PickleValue[]): void {
    if (list !== this.root) this.#machine.requireChangeable(list);
    list.length += items.length;
    for (const item of items) this.handOut(item, 0);
  }

  /** Hands out a sample, or those of a group. */
  handOut(item: PickleValue, depth: number): void {
    if (!(item instanceof ListValue)) {
      this.#deliver(item);
      return;
    }
    this.isNested = true;
    if (item.isStreamed) {
      if (item.isDelivered) throw this.#machine.error('a group of samples is in the list of samples twice');
      item.isDelivered = true;
      this.#unattachedGroups--;
      return;
    }
    if (depth === DEEPEST_GROUP) throw this.#machine.error(`samples are nested more than ${DEEPEST_GROUP} lists deep`);
    if (!item.items) throw this.#machine.error(`expected a sample, found a ${item.typeName} of numbers`);
    item.isDelivered = true;
    for (const entry of item.items) this.handOut(entry, depth + 1);
  }

  /** A batch of which samples were handed out must end in that list. @throws WrongGuess */
  endBatch(start: number, opcode: number): void {
    if (!this.hasBegun(start)) return;
    this.#begunBatches.pop();
    if (opcode !== Op.APPENDS) throw new WrongGuess();
  }

  /** Whether entries have been handed out of the batch that is at the top of the stack and begins at `start`. */
  hasBegun(start: number): boolean {
    const begun = this.#begunBatches;
    return begun.length > 0 && begun[begun.length - 1] === start;
  }

  requireComplete(): void {
    if (this.#unattachedGroups > 0) throw this.#machine.error('a group of samples is not in the list of samples');
  }

  /** The value of `samples` in a dict that is the whole file, or a list that is the whole file. */
  #isSamplePlace(): boolean {
    const { stack, marks, window } = this.#machine;
    if (stack.length === 0) return marks.length === 0;
    const key = stack[stack.length - 1];
    const isInRoot = marks.length === 0 ? stack.length === 2 : marks.length === 1 && marks[0] === 1;
    if (!isInRoot || stack.length % 2 !== 0 || !(stack[0] instanceof DictValue)) return false;
    return key instanceof TextValue && key.byteLength === SAMPLES.length && readText(window, key) === SAMPLES;
  }

  /** Whether the next value is an entry of a streamed list; what waits in front of it is handed out. */
  #isNextEntry(): boolean {
    if (this.#isPatient) return false;
    const { stack, marks } = this.#machine;
    const start = marks[marks.length - 1] ?? 0;
    const last = stack[stack.length - 1];
    // Such a list may get one more entry, or be the entry before the next.
    if (stack.length > start && last instanceof ListValue && last.isStreamed) return true;
    if (start === 0 || marks[marks.length - 2] === start || stack.length - start > MOST_WAITING) return false;
    const list = stack[start - 1];
    if (!(list instanceof ListValue) || !list.isStreamed) return false;
    for (let i = start; i < stack.length; i++) if (!isFinished(stack[i])) return false;
    if (stack.length > start) {
      if (!this.hasBegun(start)) this.#begunBatches.push(start);
      this.append(list, stack.splice(start));
    }
    return true;
  }
}

function isFinished(value: PickleValue): boolean {
  return value instanceof DictValue ? value.isPlain : value instanceof ListValue && value.isStreamed;
}
