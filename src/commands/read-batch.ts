/** Files to the columns of one batch, with what is taken from a joined file. */
import { InputError } from '../errors.ts';
import { type Input, openInput } from '../io/input.ts';
import type { ReadOptions } from '../io/jsonl/record-reader.ts';
import { type Layout, nameOfNumber, numberSources } from '../io/layouts/layout.ts';
import { type InputRows, readInput } from '../io/read-input.ts';
import type { TaskPool } from '../io/task-pool.ts';
import { type AssembledBatch, Assembler } from '../samples/assembler.ts';
import { NO_ID } from '../samples/ids.ts';
import { joinBatches, lacksRewards } from '../samples/join.ts';
import { Places } from '../samples/places.ts';
import type { JoinedFile } from './flags/input.ts';
import type { Progress } from './progress.ts';

export interface ReadSettings {
  readonly layout: Layout;
  readonly join: JoinedFile | undefined;
  readonly maxLine: number | undefined;
  readonly pool: TaskPool;
  readonly progress: Progress;
}

export interface ReadBatch {
  readonly batch: AssembledBatch;
  readonly ranges: readonly InputRows[];
  readonly warnings: readonly string[];
}

/**
 * Reads files as one batch.
 * @throws InputError naming file, line or row, field
 */
export async function readBatch(
  inputs: readonly Input[],
  settings: ReadSettings,
  wanted: (input: Input) => Omit<ReadOptions, 'layout'> = () => ({ outputFields: null, keepIndexes: false }),
): Promise<ReadBatch> {
  const { layout, join, pool, progress } = settings;
  const assembler = newAssembler(layout, inputs.length > 1);
  const ranges: InputRows[] = [];
  const warnings: string[] = [];
  for (const input of inputs) {
    const options: ReadOptions = { layout, ...wanted(input) };
    ranges.push(await readInput(input, options, assembler, pool, (bytes) => progress.advance(bytes, 'reading')));
  }
  const batch = assembler.finish();
  requireMapped(batch, layout, inputs);
  requireRewards(batch, inputs[0], join !== undefined);
  if (layout.batch && batch.facts.promptGroupSizes)
    throw new InputError(
      `${inputs.map(({ name }) => name).join(', ')}: metadata.prompt_group_sizes states the groups of one batch, and --batch-by makes several of the rows`,
    );
  if (layout.batch) requireBatches(batch, layout.batch.parts.map(({ column }) => column.text).join('+'));
  if (batch.facts.rewardsFromText > 0)
    warnings.push(`${batch.facts.rewardsFromText} rewards were text and are read as the numbers that they spell`);
  if (!join) return { batch, ranges, warnings };
  const { other, name } = await readJoined(assembler, join, lacksRewards(batch), settings);
  const joined = joinBatches(batch, other, { key: layout.key!.parts[0].column.text, other: name });
  if (joined.unused > 0) warnings.push(`${joined.unused} rows of ${name} have no partner and do not count`);
  return { batch: { ...batch, columns: joined.columns }, ranges, warnings };
}

function newAssembler(layout: Layout, namesFiles: boolean, keyIds?: Assembler['keyIds']): Assembler {
  const { reward, rewardParts, groupSize } = layout;
  const summed = reward?.isSum && !rewardParts ? reward.columns.map(({ column }) => column.text) : [];
  const options = {
    rewardKey: rewardParts ? undefined : reward?.key,
    groupSize,
    metNames: [...summed, ...numberSources(layout).map(nameOfNumber)],
    rewardParts: rewardParts?.map(nameOfNumber),
  };
  return new Assembler(new Places(namesFiles), options, keyIds);
}

/** @throws InputError that lists the fields where the layout's reward is nowhere */
function requireRewards({ facts }: AssembledBatch, input: Input, mayLack: boolean): void {
  const { rewardNeverThere, names } = facts;
  if (!rewardNeverThere || mayLack) return;
  const fields = names.length > 0 ? `; the fields are ${names.join(', ')}` : '';
  throw new InputError(
    `${input.name}: no row has a reward${fields}: --from names another layout (rollnorm presets lists them), --map reward=COLUMN another column`,
  );
}

/** @throws InputError on a column that was mapped and that no row has */
function requireMapped({ columns, facts }: AssembledBatch, { mapped = [] }: Layout, inputs: readonly Input[]): void {
  if (columns.rowCount === 0) return;
  for (const { field, text, columns: alternatives } of mapped) {
    if (alternatives.some((texts) => texts.every((column) => facts.columnsMet.has(column)))) continue;
    const missing = alternatives.flat().filter((column) => !facts.columnsMet.has(column));
    const file = inputs.map(({ name }) => name).join(', ');
    const there = facts.names.length > 0 ? `; the fields are ${facts.names.join(', ')}` : '';
    throw new InputError(`${file}: no row has ${missing.join(' or ')} (--map ${field}=${text})${there}`);
  }
}

/** @throws InputError naming the first row that is of no batch */
function requireBatches({ columns, side }: AssembledBatch, name: string): void {
  if (columns.rowCount === 0) return;
  const row = side.batchCodes ? side.batchCodes.indexOf(NO_ID) : 0;
  if (row >= 0)
    throw new InputError(`${columns.place(row)}: has no ${name}, by which batches are told apart (--batch-by)`);
}

/** @param needsRewards the rows have none; else those of the joined file are not even looked at */
async function readJoined(
  assembler: Assembler,
  { path, layout: whole }: JoinedFile,
  needsRewards: boolean,
  { maxLine, pool }: ReadSettings,
): Promise<{ other: AssembledBatch; name: string }> {
  const { reward: _, ...withoutRewards } = whole;
  const layout: Layout = needsRewards ? whole : withoutRewards;
  const input = await openInput(path, { layout, maxLine });
  try {
    const joined = newAssembler(layout, false, assembler.keyIds);
    await readInput(input, { layout, outputFields: null, keepIndexes: false }, joined, pool);
    const other = joined.finish();
    requireRewards(other, input, !needsRewards);
    return { other, name: input.name };
  } finally {
    await input.close();
  }
}
