/** Reads one column of a row group in which every row has one value or none. */
import { InputError } from '../../errors.ts';
import type { Vector } from '../vectors.ts';
import type { ChunkPages, DataPage } from './chunk-pages.ts';
import { visitLevels } from './levels.ts';
import type { RowGroup } from './metadata.ts';
import type { SchemaLeaf } from './schema.ts';
import type { Scratch } from './scratch.ts';
import { makeSink } from './value-sinks.ts';

/** The whole column, one entry a row. `name` is the column in messages. */
export function readFlatColumn(
  pages: ChunkPages,
  leaf: SchemaLeaf,
  { rowCount, firstRow }: RowGroup,
  name: string,
  scratch: Scratch,
): Vector {
  const sink = makeSink(leaf, rowCount, name, scratch);
  let presence: Uint8Array | null = null;
  let row = 0;
  for (let page = pages.next(); page !== null; page = pages.next()) {
    if (page.isDictionary) {
      sink.setDictionary(page);
      continue;
    }
    const count = page.entryCount;
    if (page.repetition !== null) checkSingleEntries(page, leaf, firstRow + row, name);
    if (count > rowCount - row)
      throw new InputError(`${page.place}: has more rows than the ${rowCount} of its row group`);
    const present = readPresence(page, leaf, presence, row, { rowCount, firstRow }, name, scratch);
    presence = present.presence;
    sink.decode(page, row, present.count);
    if (present.count < count && presence !== null) sink.spread(presence, row, count, present.count);
    row += count;
  }
  if (row !== rowCount) throw new InputError(`${name}: has ${row} rows, but its row group has ${rowCount}`);
  return sink.vector(presence);
}

/** Fills presence[row..) once any entry so far is absent; before that it stays null. */
function readPresence(
  page: DataPage,
  leaf: SchemaLeaf,
  before: Uint8Array | null,
  row: number,
  { rowCount, firstRow }: Pick<RowGroup, 'rowCount' | 'firstRow'>,
  name: string,
  scratch: Scratch,
): { presence: Uint8Array | null; count: number } {
  const { maxDefinition, elementDefinition } = leaf;
  const { definition, entryCount, place } = page;
  let presence = before;
  let count = entryCount;
  const absentFrom = () => {
    presence ??= new Uint8Array(scratch.take(rowCount, 1)).fill(1);
    return presence;
  };
  const checkEmpty = (level: number, from: number) => {
    if (leaf.maxRepetition > 0 && level === elementDefinition - 1)
      throw wrongLength(leaf, firstRow + row + from, 'none', name);
  };
  if (definition === null) return { presence, count };
  visitLevels(definition, maxDefinition, entryCount, place, {
    run(level, from, runCount) {
      if (level === maxDefinition) return;
      checkEmpty(level, from);
      absentFrom().fill(0, row + from, row + from + runCount);
      count -= runCount;
    },
    each(levels, from, eachCount) {
      for (let i = 0; i < eachCount; i++) {
        if (levels[i] === maxDefinition) continue;
        checkEmpty(levels[i], from + i);
        absentFrom()[row + from + i] = 0;
        count--;
      }
    },
  });
  return { presence, count };
}

/** A list of one entry stands for its entry; every other list is refused. */
function checkSingleEntries(page: DataPage, leaf: SchemaLeaf, row: number, name: string): void {
  const { repetition, entryCount, place } = page;
  if (repetition === null) return;
  visitLevels(repetition, leaf.maxRepetition, entryCount, place, {
    run(level, from) {
      if (level > 0) throw wrongLength(leaf, row + from - 1, 'several', name);
    },
    each(levels, from, count) {
      const index = levels.subarray(0, count).findIndex((level) => level > 0);
      if (index >= 0) throw wrongLength(leaf, row + from + index - 1, 'several', name);
    },
  });
}

function wrongLength(leaf: SchemaLeaf, row: number, found: string, name: string): InputError {
  return new InputError(
    `${name} is ${leaf.type}: expected a single value, or one entry in every list, found ${found} in row ${row + 1}`,
  );
}
