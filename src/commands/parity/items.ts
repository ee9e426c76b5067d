/** What `rollnorm parity` compares: generated batches, the batches of files, or a reproducer. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { InputError, UsageError } from '../../errors.ts';
import { named } from '../../io/read-input.ts';
import { checkOptions, type NormalizeOptions } from '../../options.ts';
import { REPRODUCER_MARK, readReproducer } from '../../parity/reproducer.ts';
import type { ParityItem } from '../../parity/run.ts';
import { prepareBatch } from '../../prepare.ts';
import { columnsOfBatch } from '../../samples/batch.ts';
import { optionsFor, readBatches } from '../batches.ts';
import { type InputFlags, withRewardWeights } from '../flags/input.ts';
import { type RuleFlags, ruleOptions } from '../flags/rule.ts';
import { printable } from '../printable.ts';

type Flags = InputFlags & RuleFlags;

/**
 * What the paths hold, in memory; null: nothing was named, so batches are to be generated.
 * @throws UsageError, InputError
 */
export async function itemsOf(paths: readonly string[], flags: Flags): Promise<readonly ParityItem[] | null> {
  if (paths.length === 0) {
    if (hasRuleOrInput(flags))
      throw new UsageError('the generated batches have rules of their own: flags of rules and inputs are for files');
    return null;
  }
  if (!paths.some(isReproducer)) return itemsOfFiles(paths, flags);
  if (paths.length > 1) throw new UsageError('a reproducer is run by itself');
  if (hasRuleOrInput(flags))
    throw new UsageError('a reproducer has its own rule and rows: flags of rules and inputs have no meaning with it');
  return [itemOfReproducer(paths[0])];
}

function itemOfReproducer(path: string): ParityItem {
  const { name, options, cut, batch } = readReproducer(path, readFileSync(path, 'utf8'));
  const prepare = () => inFile(path, () => prepareBatch(columnsOfBatch(batch), options), true);
  return { name, options, cut, refused: null, prepare };
}

async function itemsOfFiles(paths: readonly string[], flags: Flags): Promise<ParityItem[]> {
  const options = withRewardWeights(ruleOptions(flags), flags);
  const items: ParityItem[] = [];
  let rows = 0;
  for await (const batch of readBatches(paths, flags, checkOptions(options).estimator.perReward)) {
    const own: NormalizeOptions = optionsFor(batch, options, items.length);
    for (const warning of batch.warnings) process.stderr.write(`rollnorm: warning: ${printable(warning)}\n`);
    const refused = (message: string) => new InputError(`${batch.name}: ${message}`);
    const prepare = () => inFile(batch.name, () => prepareBatch(batch.columns, own));
    items.push({ name: batch.name, options: own, cut: false, refused, prepare });
    rows += batch.columns.rowCount;
  }
  if (rows === 0) throw new InputError(`${paths.join(', ')}: there are no rows to compare`);
  return items;
}

function hasRuleOrInput(flags: Flags): boolean {
  const { from, map, rewardKey, rewardColumns, groupSize, join, batchBy, oneBatch } = flags;
  const input = { from, map, rewardKey, rewardColumns, groupSize, join, batchBy, oneBatch };
  return Object.values({ ...ruleOptions(flags), ...input }).some((value) => value !== undefined);
}

/** Names the file. @param ownsOptions they are the file's too, and so is what is wrong with them */
function inFile<T>(name: string, prepare: () => T, ownsOptions = false): T {
  try {
    return prepare();
  } catch (error) {
    if (ownsOptions && error instanceof UsageError) throw new InputError(`${name}: ${error.message}`, { cause: error });
    throw named(name, error);
  }
}

const HEAD_BYTES = 1 << 16;

/** Whether a file is what an earlier run left. */
export function isReproducer(path: string): boolean {
  // What is no plain file would lose what is read of it here.
  if (path === '-' || !statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  try {
    return headOf(path).includes(`"${REPRODUCER_MARK}"`);
  } catch {
    return false; // whoever reads it as rows says what is wrong
  }
}

function headOf(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString('latin1', 0, readSync(descriptor, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}
