/** Reads row groups or record batches into chunks of rows. */
import { IdCoder, NO_ID } from '../../samples/ids.ts';
import { NOT_RECORDED, recordedValue } from '../../samples/recorded.ts';
import type { CodedIds, KindSeen, RowChunk } from '../../samples/row-chunk.ts';
import type { IdBases } from '../id-bases.ts';
import type { ReadOptions } from '../jsonl/record-reader.ts';
import { mappedColumns } from '../layouts/layout.ts';
import type { VectorsPortion } from '../portion.ts';
import { openRandomAccess } from '../random-access.ts';
import { newCoders } from '../tasks.ts';
import type { Vector } from '../vectors.ts';
import { openColumnarFile } from './columnar-file.ts';
import { codesOfSource } from './id-vector.ts';
import { requestsOf, requireFreeColumns, type VectorOf, vectorFinder } from './requests.ts';
import { flagsOfLayout, NO_REWARDS, numbersOfLayout, rewardsOfSource, tokensOfLayout } from './value-vectors.ts';

/** @throws RecordError naming row, column, what was expected and what was found */
export async function readVectorRows(
  portion: VectorsPortion,
  options: ReadOptions,
  bases: IdBases | undefined,
  emit: (chunk: RowChunk) => void,
): Promise<void> {
  const file = openRandomAccess(portion.path, portion.name);
  try {
    const columnar = openColumnarFile(file, portion.format);
    await columnar.prepare();
    requireFreeColumns(columnar.columns, options.outputFields);
    const requests = requestsOf(options.layout, options.keepIndexes, columnar.columns);
    const names = [...new Set(columnar.columns.map(({ path }) => path[0]))];
    const columnsMet = mappedColumns(options.layout).filter(
      (text) => requests.texts.includes(text) || requests.later.has(text),
    );
    const about = { names, columnsMet, checksIndex: requests.checksIndex };
    let firstRow = 0;
    for (let i = portion.first; i < portion.first + portion.count; i++) {
      const { rowCount, firstRow: fileRow } = columnar.parts[i];
      const vectorOf = vectorFinder(requests, (some) => columnar.readVectors(i, some));
      emit(chunkOf(options, bases, vectorOf, { rowCount, firstRow, fileRow }, about));
      firstRow += rowCount;
    }
  } finally {
    file.close();
  }
}

interface Extent {
  readonly rowCount: number;
  /** In the portion. */
  readonly firstRow: number;
  /** In the file. */
  readonly fileRow: number;
}

/** What all parts of a file have in common. */
interface AboutColumns {
  readonly names: readonly string[];
  readonly columnsMet: readonly string[];
  readonly checksIndex: boolean;
}

function chunkOf(
  options: ReadOptions,
  bases: IdBases | undefined,
  vectorOf: VectorOf,
  extent: Extent,
  { names, columnsMet, checksIndex }: AboutColumns,
): RowChunk {
  const { layout } = options;
  const { rowCount, firstRow } = extent;
  const coders = newCoders(options, bases);
  const kinds: Record<string, KindSeen> = {};
  const facts = { ...extent, kinds };
  const groups = codesOfSource('group_index', layout.group_index, vectorOf, coders.groups, facts);
  const rollouts = codesOfSource('rollout_id', layout.rollout_id, vectorOf, coders.rollouts, facts);
  const keyedByIndex = fillFromIndex(rollouts, () =>
    codesOfSource('index', layout.index, vectorOf, coders.rollouts, facts),
  );
  if (checksIndex) codesOfSource('index', layout.index, vectorOf, new IdCoder(), facts);
  const coded = (codes: Uint32Array, coder: typeof coders.groups): CodedIds => ({
    codes,
    dictionary: coder.snapshot(),
  });
  const side = (field: 'index' | 'batch' | 'key', coder: typeof coders.indexes) =>
    coder && coded(codesOfSource(field, layout[field], vectorOf, coder, facts), coder);
  const { rewards, missing, fromText, isAbsent } = layout.rewardParts
    ? NO_REWARDS
    : rewardsOfSource(layout.reward, vectorOf, rowCount, firstRow);
  const more = numbersOfLayout(layout, vectorOf, rowCount, firstRow);
  const { flags, unknownStatuses } = flagsOfLayout(layout, vectorOf, keyedByIndex, firstRow);
  const { tokens, known } = tokensOfLayout(layout, vectorOf, flags, firstRow);
  return {
    rowCount,
    recordCount: rowCount,
    groups: coded(groups, coders.groups),
    rollouts: coded(rollouts, coders.rollouts),
    indexes: side('index', coders.indexes),
    batches: side('batch', coders.batches),
    keys: side('key', coders.keys),
    rewards: more.sums ?? rewards,
    numbers: more.numbers,
    tokens,
    flags,
    recorded: layout.recorded ? recordedOf(vectorOf(layout.recorded), rowCount) : null,
    facts: {
      tokensKnown: known,
      missingReward: more.sums ? more.missing : missing,
      unknownStatuses: [...unknownStatuses],
      idKinds: kinds,
      rewardObjects: 0,
      keyedRewards: 0,
      rewardKeys: [],
      rewardsFromText: fromText,
      rewardsAbsent: isAbsent ? rowCount : 0,
      met: more.met,
      columnsMet,
      names,
    },
    places: null,
  };
}

/** Rows without a rollout_id take their index; 1 where they did. */
function fillFromIndex(rollouts: Uint32Array, indexes: () => Uint32Array): Uint8Array {
  const keyed = new Uint8Array(rollouts.length);
  if (!rollouts.includes(NO_ID)) return keyed;
  const codes = indexes();
  for (let row = 0; row < rollouts.length; row++) {
    if (rollouts[row] !== NO_ID || codes[row] === NO_ID) continue;
    rollouts[row] = codes[row];
    keyed[row] = 1;
  }
  return keyed;
}

function recordedOf(vector: Vector | null, rowCount: number): Float64Array {
  const recorded = new Float64Array(rowCount).fill(NOT_RECORDED);
  if (vector?.kind !== 'numbers' && vector?.kind !== 'integers') return recorded;
  for (let row = 0; row < rowCount; row++)
    if (!vector.present || vector.present[row] === 1) recorded[row] = recordedValue(Number(vector.values[row]));
  return recorded;
}
