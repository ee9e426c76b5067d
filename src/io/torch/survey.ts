/** Counts the values that are still reachable, so that no pickle can pile up more than fits into memory. */
import { DictValue, ListValue, Node, type PickleValue, TextValue } from './values.ts';

/** A unit stands for some 50 bytes. */
const CHARACTERS_PER_UNIT = 32;
const UNITS_OF_LARGE_INTEGER = 10;
const UNITS_OF_CONTAINER = 3;

let surveyCount = 0;

/** Units of memory that the given values and those below them take; stops soon after `most`. */
export function countKept(stack: readonly PickleValue[], memoized: Iterable<PickleValue>, most: number): number {
  surveyCount++;
  let count = stack.length;
  const open: Node[] = [];
  const meet = (value: PickleValue) => {
    count++;
    if (typeof value === 'bigint') count += UNITS_OF_LARGE_INTEGER;
    if (!(value instanceof Node) || value.surveyed === surveyCount) return;
    value.surveyed = surveyCount;
    count += value instanceof DictValue || value instanceof ListValue ? UNITS_OF_CONTAINER : 1;
    if (value instanceof TextValue) count += (value.text?.length ?? 0) / CHARACTERS_PER_UNIT;
    else open.push(value);
  };
  stack.forEach(meet);
  for (const value of memoized) meet(value);
  for (let node = open.pop(); node && count <= most; node = open.pop()) node.forEachChild(meet);
  return count;
}
