/** `rollnorm diff`: what changes between two settings, or beside a recorded column. */
import { type Command, InvalidArgumentError } from 'commander';
import { type DiffReport, totalOf } from '../diff/report.ts';
import { differencesOf, settingsInWords } from '../diff/settings.ts';
import { createEngine, type Engine } from '../engine.ts';
import { UsageError } from '../errors.ts';
import { DIALECT_NAMES } from '../estimators/dialects.ts';
import { checkOptions, type NormalizeOptions } from '../options.ts';
import type { Report } from '../report.ts';
import { packageVersion } from '../version.ts';
import { type NamedBatch, optionsFor, readBatches } from './batches.ts';
import { type Against, type BatchDiff, diffColumn, diffSettings, inSettings } from './diff/pair.ts';
import { type Compared, renderDiff } from './diff/render.ts';
import { addBackendFlags, type BackendFlags, engineOptions } from './flags/backend.ts';
import { addInputFlags, type InputFlags, withRewardWeights } from './flags/input.ts';
import { addRuleFlags, type RuleFlags, ruleOptions, ruleOptionsFromText } from './flags/rule.ts';
import { describePlace } from './normalize/places.ts';
import { describeWarnings } from './normalize/summary.ts';
import { parseCount, parseEpsilon, parseName } from './options.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';

/** As commander gives them. */
interface Flags extends InputFlags, RuleFlags, BackendFlags {
  against?: string;
  againstColumn?: string;
  failOver?: number;
  top: number;
  json?: true;
}

export function addDiff(program: Command): void {
  const command = program
    .command('diff')
    .summary('what changes between two settings, or beside a recorded column')
    .description(
      'Computes the advantages of the same rows under the settings of the flags and under others, and says how many rows\n' +
        'and rollouts change, by how much, how many change sign, and why the largest do.',
    )
    .argument('[file...]', 'files or directories, each file a batch; - or none reads standard input')
    .option(
      '--against <settings>',
      'flags on top of the others, such as "--like slime"; or rows: siblings count as rows',
      parseSettings,
    )
    .option('--against-column <name>', 'a column of the file that carries advantages', parseName)
    .option('--fail-over <number>', 'exit 1 if the largest difference is greater; 0: if anything changes', parseEpsilon)
    .option('--top <n>', 'rollouts and groups that are listed', parseCount, 10)
    .option('--json', 'print JSON');
  addInputFlags(command);
  addRuleFlags(command);
  addBackendFlags(command);
  command.addHelpText('after', EXAMPLES).action(diffCommand);
}

const EXAMPLES = `
Before is what the flags say, after what --against says. A rollout is listed by the row that changes most.

Examples:
  rollnorm diff rollouts.jsonl --against rows
  rollnorm diff rollouts.jsonl --like miles --against "--like slime" --fail-over 0
  rollnorm diff --from trl --reward-columns accuracy=1 completions.parquet --against-column advantage
`;

function parseSettings(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Expected flags such as "--like slime", or rows.');
  return text;
}

const ROWS = 'rows';

async function diffCommand(paths: string[], flags: Flags): Promise<void> {
  const asked = ruleOptions(flags);
  checkOptions(asked);
  const wanted = await againstOf(flags, asked);
  const perReward = [asked, ...(wanted.kind === 'settings' ? [wanted.options] : [])].some(
    (one) => checkOptions(one).estimator.perReward,
  );
  const options = withRewardWeights(asked, flags, perReward);
  const against =
    wanted.kind === 'settings' ? { ...wanted, options: withRewardWeights(wanted.options, flags, perReward) } : wanted;
  const engine = createEngine(engineOptions(flags));
  const diffs: BatchDiff[] = [];
  try {
    for await (const batch of readBatches(paths, inputFlags(flags, against), perReward)) {
      const diff = await diffBatch(batch, options, against, { engine, top: flags.top, number: diffs.length });
      for (const line of notesOf(batch, diff)) process.stderr.write(line);
      diffs.push(diff);
    }
  } finally {
    await engine.close();
  }
  const total = diffs.length === 1 ? diffs[0].report : totalOf(diffs, flags.top);
  const failed = isOver(total, flags.failOver);
  const compared = comparedOf(options, against);
  const text = flags.json ? jsonOf(compared, diffs, total, flags.failOver, failed) : renderDiff(compared, diffs, total);
  await print(text);
  if (!failed) return;
  process.stderr.write(`rollnorm: ${whyOver(total, flags.failOver!)}\n`);
  process.exitCode = 1;
}

/** @throws UsageError that names the text */
async function againstOf({ against, againstColumn }: Flags, base: NormalizeOptions): Promise<Against> {
  if ((against === undefined) === (againstColumn === undefined))
    throw new UsageError(
      'diff needs --against SETTINGS, --against rows or --against-column NAME, and one of them alone',
    );
  if (againstColumn !== undefined) return { kind: 'column', column: againstColumn };
  const text = against!.trim();
  if (DIALECT_NAMES.some((name) => name === text))
    throw new UsageError(`in the settings '${text}': expected flags such as --like ${text}`);
  const options = text === ROWS ? ({ ...base, siblings: ROWS } as const) : ruleOptionsFromText(text, base);
  await inSettings(text, () => checkOptions(options));
  return { kind: 'settings', text, options };
}

function inputFlags(flags: Flags, against: Against): InputFlags {
  if (against.kind === 'settings') return flags;
  return { ...flags, map: [...(flags.map ?? []), `recorded=${against.column}`] };
}

function diffBatch(
  batch: NamedBatch,
  options: NormalizeOptions,
  against: Against,
  { engine, top, number }: { engine: Engine; top: number; number: number },
): Promise<BatchDiff> {
  const own = optionsFor(batch, options, number);
  if (against.kind === 'column') return diffColumn(batch, own, against.column, engine, top);
  return diffSettings(batch, own, { ...against, options: optionsFor(batch, against.options, number) }, engine, top);
}

/** What stderr says of a batch: warnings, and where it was computed. */
function notesOf({ name, warnings }: NamedBatch, { before, after }: BatchDiff): string[] {
  const file = printable(name);
  const others = after?.warnings.filter((text) => !before.warnings.includes(text)) ?? [];
  const notes = [describeWarnings([...warnings, ...before.warnings], file)];
  notes.push(
    describeWarnings(
      others.map((text) => `after: ${text}`),
      file,
    ),
    `rollnorm: ${file}: ${placeOf(before)}\n`,
  );
  return notes;
}

function placeOf(report: Report): string {
  return `computed on ${describePlace(report)} (${report.backend_reason})`;
}

function comparedOf(options: NormalizeOptions, against: Against): Compared {
  const before = settingsInWords(options);
  if (against.kind === 'column') return { before, after: null, against: `the column ${against.column}`, differing: [] };
  const after = settingsInWords(against.options);
  return { before, after, against: `--against ${against.text}`, differing: differencesOf(before, after) };
}

function isOver({ difference, not_compared }: DiffReport, limit: number | undefined): boolean {
  return limit !== undefined && (difference.largest > limit || not_compared.not_finite > 0);
}

function whyOver({ difference, not_compared: { not_finite: notFinite } }: DiffReport, limit: number): string {
  const what = notFinite > 0 ? `${notFinite} rows are not finite` : `the largest difference is ${difference.largest}`;
  return `${what}; --fail-over allows ${limit}`;
}

function jsonOf(
  { before, after, against, differing }: Compared,
  diffs: readonly BatchDiff[],
  total: DiffReport,
  failOver: number | undefined,
  failed: boolean,
): string {
  const batches = diffs.map(({ name, grouping, report, recorded, before: own }) => ({
    batch: name,
    grouping,
    ...report,
    recorded,
    backend: own.backend,
  }));
  const found = { against, before, after, differing_settings: differing, batches, total };
  return `${JSON.stringify({ ...found, fail_over: failOver ?? null, failed, version: packageVersion() }, null, 2)}\n`;
}
