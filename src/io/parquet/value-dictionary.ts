/** Distinct values of a column by hashing, given up as soon as there are too many to be worth it. */

/** A page of 32,768 entries keeps indices at two bytes. */
const MOST_ENTRIES = 1 << 15;
/** After so many values, a column is given up of which too large a part has been new. */
const TRIAL = 1 << 14;
/** Indices of up to 15 bits save little of four bytes, more of eight. */
const MOST_AFTER_TRIAL = { 1: (TRIAL * 3) / 8, 2: (TRIAL * 3) / 4 } as const;

export interface ValueDictionary {
  /** The distinct values, in the order in which they came. */
  readonly entries: Int32Array;
  readonly entryCount: number;
  /** For each value its entry. */
  readonly indices: Int32Array;
}

/** The dictionary of `count` values of one or two words, or null where plain values are better. */
export function findDictionary(words: Int32Array, wordsPerValue: 1 | 2, count: number): ValueDictionary | null {
  if (count === 0) return null;
  const slotCount = 2 ** Math.ceil(Math.log2(Math.max(16, 2 * Math.min(count, MOST_ENTRIES))));
  const slots = new Int32Array(slotCount).fill(-1);
  const entries = new Int32Array(Math.min(count, MOST_ENTRIES) * wordsPerValue);
  const indices = new Int32Array(count);
  let entryCount = 0;
  for (let i = 0; i < count; i++) {
    if (i === TRIAL && entryCount > MOST_AFTER_TRIAL[wordsPerValue]) return null;
    const low = words[i * wordsPerValue];
    const high = wordsPerValue === 2 ? words[2 * i + 1] : 0;
    let slot = hash(low, high) & (slotCount - 1);
    let entry = slots[slot];
    while (entry >= 0 && !isEntry(entries, entry, wordsPerValue, low, high)) {
      slot = (slot + 1) & (slotCount - 1);
      entry = slots[slot];
    }
    if (entry < 0) {
      if (entryCount === MOST_ENTRIES) return null;
      entry = entryCount++;
      slots[slot] = entry;
      entries[entry * wordsPerValue] = low;
      if (wordsPerValue === 2) entries[2 * entry + 1] = high;
    }
    indices[i] = entry;
  }
  if (entryCount * 2 > count) return null;
  return { entries: entries.subarray(0, entryCount * wordsPerValue), entryCount, indices };
}

function isEntry(entries: Int32Array, entry: number, wordsPerValue: 1 | 2, low: number, high: number): boolean {
  return wordsPerValue === 1 ? entries[entry] === low : entries[2 * entry] === low && entries[2 * entry + 1] === high;
}

function hash(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
