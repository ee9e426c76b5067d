/** Definition and repetition levels as what readers need of them: presence, row starts, and runs of missing entries. */
import { InputError } from '../../errors.ts';
import { type LevelSpan, levelWidth } from './chunk-pages.ts';
import { HybridRuns, unpackBytes } from './hybrid-runs.ts';

/** Called for each stretch of equal levels, in order; packed stretches come with the levels of each entry. */
interface LevelVisitor {
  run(level: number, from: number, count: number): void;
  each(levels: Uint8Array, from: number, count: number): void;
}

const UNPACKED_AT_ONCE = 1 << 16;
let unpacked = new Uint8Array(0);

/** Goes over the `entryCount` levels of a page, none of which may be over `maxLevel`. */
export function visitLevels(
  span: LevelSpan,
  maxLevel: number,
  entryCount: number,
  place: string,
  to: LevelVisitor,
): void {
  if (span.isLegacyPacked) {
    visitLegacyLevels(span, maxLevel, entryCount, place, to);
    return;
  }
  const width = levelWidth(maxLevel);
  const runs = new HybridRuns(span.bytes, span.start, span.end, width, entryCount, `${place}: levels`);
  for (let from = 0; runs.next(); from += runs.count) {
    if (!runs.isPacked) {
      if (runs.value > maxLevel) throw levelError(place, runs.value, maxLevel);
      to.run(runs.value, from, runs.count);
      continue;
    }
    if (unpacked.length === 0) unpacked = new Uint8Array(UNPACKED_AT_ONCE);
    for (let done = 0; done < runs.count; ) {
      const count = Math.min(UNPACKED_AT_ONCE, runs.count - done);
      unpackBytes(span.bytes, runs.byteOffset + (done * width) / 8, span.end, width, unpacked, 0, count);
      checkLevels(unpacked, count, maxLevel, place);
      to.each(unpacked, from + done, count);
      done += count;
    }
  }
}

/** Most significant bit first, without runs. */
function visitLegacyLevels(
  span: LevelSpan,
  maxLevel: number,
  entryCount: number,
  place: string,
  to: LevelVisitor,
): void {
  const width = levelWidth(maxLevel);
  if (unpacked.length === 0) unpacked = new Uint8Array(UNPACKED_AT_ONCE);
  let bit = 0;
  for (let from = 0; from < entryCount; from += UNPACKED_AT_ONCE) {
    const count = Math.min(UNPACKED_AT_ONCE, entryCount - from);
    for (let i = 0; i < count; i++) {
      let level = 0;
      for (let k = 0; k < width; k++, bit++) {
        level = (level << 1) | ((span.bytes[span.start + (bit >>> 3)] >>> (7 - (bit & 7))) & 1);
      }
      unpacked[i] = level;
    }
    checkLevels(unpacked, count, maxLevel, place);
    to.each(unpacked, from, count);
  }
}

function checkLevels(levels: Uint8Array, count: number, maxLevel: number, place: string): void {
  if ((maxLevel & (maxLevel + 1)) === 0) return;
  for (let i = 0; i < count; i++) if (levels[i] > maxLevel) throw levelError(place, levels[i], maxLevel);
}

function levelError(place: string, found: number, maxLevel: number): InputError {
  return new InputError(`${place}: has a level ${found}, expected at most ${maxLevel}`);
}

/** Runs of entries that have no value, in order: where they begin, how many, and their definition level. */
export class MissingRuns {
  readonly starts: number[] = [];
  readonly counts: number[] = [];
  readonly levels: number[] = [];
  /** Entries in all runs. */
  total = 0;

  push(level: number, start: number, count: number): void {
    const last = this.starts.length - 1;
    this.total += count;
    if (last >= 0 && this.levels[last] === level && this.starts[last] + this.counts[last] === start) {
      this.counts[last] += count;
      return;
    }
    this.starts.push(start);
    this.counts.push(count);
    this.levels.push(level);
  }
}

/** Where a page's entries have no value. */
export function findMissing(span: LevelSpan | null, maxLevel: number, entryCount: number, place: string): MissingRuns {
  const missing = new MissingRuns();
  if (span === null) return missing;
  visitLevels(span, maxLevel, entryCount, place, {
    run(level, from, count) {
      if (level < maxLevel) missing.push(level, from, count);
    },
    each(levels, from, count) {
      for (let i = 0; i < count; i++) if (levels[i] < maxLevel) missing.push(levels[i], from + i, 1);
    },
  });
  return missing;
}
