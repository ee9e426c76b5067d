/** `rollnorm explain`: why a row has the advantage that it has. */
import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { createEngine, type Engine } from '../engine.ts';
import { UsageError } from '../errors.ts';
import { compute, computeInstead } from '../explain/computation.ts';
import { explainRow, type Question } from '../explain/explain.ts';
import type { Explanation, Place } from '../explain/explanation.ts';
import { renderExplanation } from '../explain/render.ts';
import { named } from '../io/read-input.ts';
import { checkOptions } from '../options.ts';
import { rowAt } from '../plan/plan.ts';
import { NO_ID } from '../samples/ids.ts';
import { packageVersion } from '../version.ts';
import { filesOf, type NamedBatch, optionsFor, readBatches } from './batches.ts';
import { addBackendFlags, type BackendFlags, engineOptions } from './flags/backend.ts';
import { addInputFlags, type InputFlags, withRewardWeights } from './flags/input.ts';
import { addRuleFlags, type RuleFlags, ruleOptions } from './flags/rule.ts';
import { describeWarnings } from './normalize/summary.ts';
import { parseName } from './options.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';

/** As commander gives them. */
interface Flags extends InputFlags, RuleFlags, BackendFlags {
  readonly row?: RowAddress;
  readonly rollout?: string;
  readonly json?: true;
}

interface RowAddress {
  /** Null: the first file. */
  readonly file: string | null;
  /** From 1. */
  readonly row: number;
}

export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .summary('why a row has its advantage: tier, group, rows, mean, deviation, guards, formula')
    .description(
      'Normalizes as `rollnorm normalize` does with the same options and says how one row, or one rollout, came to its\n' +
        'advantage: how its group was found, who counts in it, which row stands for its rollout, and the formula in numbers.',
    )
    .argument('[file...]', 'files or directories, each file a batch; - or none reads standard input')
    .option('--row <k>', 'the row of the file, from 1; of several files FILE:K', parseRow)
    .option('--rollout <id>', 'all rollouts with this rollout_id (or index), as it stands in the file', parseName)
    .option('--json', 'print JSON');
  addInputFlags(command);
  addRuleFlags(command);
  addBackendFlags(command);
  command.addHelpText('after', EXAMPLES).action(explainCommand);
}

const EXAMPLES = `
Examples:
  rollnorm explain examples/rollouts.jsonl --row 5
  rollnorm explain examples/rollouts.jsonl --rollout fix-date-parser/A --like verl
  rollnorm explain dumps/ --row dumps/7.jsonl:12 --json
`;

const ADDRESS = /^(?:(.+):)?(\d+)$/s;

function parseRow(text: string): RowAddress {
  const [, file = null, digits] = ADDRESS.exec(text) ?? [];
  const row = Number(digits);
  if (!Number.isSafeInteger(row) || row < 1)
    throw new InvalidArgumentError('Expected the number of a row, counted from 1, or FILE:ROW.');
  return { file, row };
}

async function explainCommand(paths: string[], flags: Flags): Promise<void> {
  if ((flags.row === undefined) === (flags.rollout === undefined))
    throw new UsageError('say what to explain: --row K or --rollout ID, one of them');
  optionsOf(flags);
  const engine = createEngine(engineOptions(flags));
  try {
    const explanations = await (flags.row ? ofRow(engine, paths, flags.row, flags) : ofRollout(engine, paths, flags));
    const text = flags.json
      ? `${JSON.stringify({ version: packageVersion(), explanations }, null, 2)}\n`
      : explanations.map((explanation) => renderExplanation(explanation, printable)).join('\n');
    await print(text);
  } finally {
    await engine.close();
  }
}

/** @throws UsageError */
const optionsOf = (flags: Flags) => withRewardWeights(ruleOptions(flags), flags);

/** Only the file that the row is in is read, unless several are one batch. */
async function ofRow(
  engine: Engine,
  paths: readonly string[],
  { file: asked, row }: RowAddress,
  flags: Flags,
): Promise<Explanation[]> {
  const { files, isOne } = filesOf(paths, flags);
  const file = asked === null ? files[0] : fileNamed(asked, files);
  if (!isOne && files.length > 1 && flags.promptGroupSizes) refuseSizes();
  let batchNumber = 0;
  let rowCount = 0;
  for await (const batch of batchesOf(isOne ? files : [file], flags)) {
    const { firstRow, rowCount: rows } = batch.files.find(({ name }) => name === file)!;
    rowCount = rows;
    const whole = firstRow + row - 1;
    const own = batch.rows === null ? whole : batch.rows.indexOf(whole);
    if (row <= rows && own >= 0)
      return explainBatch(engine, batch, batchNumber, [{ row: own, wholeRollout: false }], flags);
    batchNumber++;
  }
  throw new UsageError(`${nameOf(file)} has no row ${row}: it has ${rowCount} rows`);
}

/** A path as it was given, or a base name that only one file has. */
function fileNamed(asked: string, files: readonly string[]): string {
  if (files.includes(asked)) return asked;
  const alike = files.filter((file) => basename(file) === asked);
  if (alike.length === 1) return alike[0];
  const why = alike.length === 0 ? 'is none of the files' : `is the name of ${alike.length} of the files`;
  throw new UsageError(`--row ${asked}:...: ${asked} ${why} (${files.map(nameOf).join(', ')})`);
}

async function ofRollout(engine: Engine, paths: readonly string[], flags: Flags): Promise<Explanation[]> {
  const { files, isOne } = filesOf(paths, flags);
  const explanations: Explanation[] = [];
  let batchNumber = 0;
  if (!isOne && files.length > 1 && flags.promptGroupSizes) refuseSizes();
  for (const together of isOne ? [files] : files.map((file) => [file])) {
    for await (const batch of batchesOf(together, flags)) {
      const rows = rowsWithId(batch, flags.rollout!);
      const questions = rows.map((row) => ({ row, wholeRollout: true }));
      if (rows.length > 0) explanations.push(...(await explainBatch(engine, batch, batchNumber, questions, flags)));
      batchNumber++;
    }
  }
  if (explanations.length === 0)
    throw new UsageError(`no rollout of ${files.map(nameOf).join(', ')} has the id ${flags.rollout}`);
  return explanations;
}

function refuseSizes(): never {
  throw new UsageError('--prompt-group-sizes is for one batch, not for several');
}

function batchesOf(files: readonly string[], flags: Flags): AsyncGenerator<NamedBatch> {
  const { perReward } = checkOptions(optionsOf(flags)).estimator;
  return readBatches(files, { ...flags, ...(files.length > 1 ? { oneBatch: true } : {}) }, perReward);
}

/** Rows whose id reads so, as JSON or as plain text. */
function rowsWithId({ columns }: NamedBatch, asked: string): number[] {
  const { rolloutCodes, rolloutIds } = columns;
  if (rolloutCodes === null) return [];
  const spelled = wholeNumber(asked);
  const codes = [...new Set(rolloutCodes)].filter((code) => code !== NO_ID);
  const exact = codes.filter((code) => rolloutIds.describe(code) === spelled);
  const wanted = new Set(exact.length > 0 ? exact : codes.filter((code) => rolloutIds.text(code) === asked));
  const rows: number[] = [];
  for (let row = 0; row < rolloutCodes.length; row++) if (wanted.has(rolloutCodes[row])) rows.push(row);
  return rows;
}

/** `1.0`, `1e3` and `-0` are whole numbers too, and are the same ids as `1`, `1000` and `0`. */
function wholeNumber(text: string): string {
  const [, sign, whole, fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d*?)0*)?(?:e\+?(\d{1,3}))?$/i.exec(text) ?? [];
  if (whole === undefined || fraction.length > Number(power)) return text;
  return String(BigInt(`${whole}${fraction.padEnd(Number(power), '0')}`) * (sign === '-' ? -1n : 1n));
}

const ROLLOUTS_EXPLAINED = 20;
const FOR_PEOPLE = { members: 12, rows: 10 };
const FOR_PROGRAMS = { members: 1000, rows: 1000 };

/** Explains one row of every rollout that the rows are of. */
async function explainBatch(
  engine: Engine,
  batch: NamedBatch,
  batchNumber: number,
  questions: readonly Question[],
  flags: Flags,
): Promise<Explanation[]> {
  const options = optionsFor(batch, optionsOf(flags), batchNumber);
  try {
    const computation = await compute(engine, batch.columns, options);
    const { plan, result } = computation;
    const warnings = [...batch.warnings, ...result.report.warnings];
    process.stderr.write(describeWarnings(warnings.map(printable)));
    const alternative = await computeInstead(engine, computation);
    const asked = questions.filter(
      ({ row, wholeRollout }) => !wholeRollout || rowAt(plan, plan.rowOffsets[plan.rowRollout[row]]) === row,
    );
    if (asked.length > ROLLOUTS_EXPLAINED)
      process.stderr.write(`rollnorm: ${asked.length} rollouts have this id; the first ${ROLLOUTS_EXPLAINED} follow\n`);
    const limits = flags.json ? FOR_PROGRAMS : FOR_PEOPLE;
    const explanations: Explanation[] = [];
    for (const question of asked.slice(0, ROLLOUTS_EXPLAINED))
      explanations.push(
        await explainRow(engine, computation, alternative, question, (row) => placeOf(batch, row), limits),
      );
    return explanations;
  } catch (error) {
    throw batch.files.length === 1 ? named(nameOf(batch.files[0].name), error) : error;
  }
}

function placeOf({ files, rows, columns }: NamedBatch, row: number): Place {
  const whole = rows ? rows[row] : row;
  const { name, firstRow } = files.findLast((file) => file.firstRow <= whole)!;
  return { file: nameOf(name), row: whole - firstRow + 1, place: columns.place(row) };
}

const nameOf = (file: string) => (file === '-' ? 'stdin' : file);
