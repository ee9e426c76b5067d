/** `rollnorm inspect`: what is in the files, to be looked at before it is trained on. */
import type { Command } from 'commander';
import { createEngine, type Engine } from '../engine.ts';
import { RollnormError, UsageError } from '../errors.ts';
import { lookAt } from '../inspect/look.ts';
import { renderSurvey } from '../inspect/render.ts';
import { type Survey, Surveyor } from '../inspect/survey.ts';
import { checkOptions } from '../options.ts';
import { packageVersion } from '../version.ts';
import { filesOf, optionsFor, readBatches } from './batches.ts';
import { addInputFlags, type InputFlags, inputLayout, withRewardWeights } from './flags/input.ts';
import { addRuleFlags, type RuleFlags, ruleOptions } from './flags/rule.ts';
import { compareRecorded, type RecordedComparison } from './normalize/recorded.ts';
import { describeRecorded } from './normalize/summary.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';

/** As commander gives them. */
interface Flags extends InputFlags, RuleFlags {
  readonly json?: true;
}

type FileSurvey = Survey & { readonly file: string; readonly comparison: RecordedComparison | null };

export function addInspect(program: Command): void {
  const command = program
    .command('inspect')
    .summary('fan-out, groups, rewards, ids, disagreement: look before you train')
    .description(
      'Surveys files of rollout rows without writing anything: how the groups would be found, fan-out, rewards, flat\n' +
        'groups, success by rollout and by row, siblings that disagree, ids, tokens, and the warnings of a normalization.',
    )
    .argument('[file...]', 'files or directories, each file a batch; - or none reads standard input')
    .option('--json', 'print JSON');
  addInputFlags(command);
  addRuleFlags(command);
  command.addHelpText('after', EXAMPLES).action(inspectCommand);
}

const EXAMPLES = `
Options of the rule say which warnings a normalization would give; siblings and tiers are found with them.

Examples:
  rollnorm inspect examples/rollouts.jsonl
  rollnorm inspect --from verl-v1 rollout_data/ --json
`;

async function inspectCommand(paths: string[], flags: Flags): Promise<void> {
  const { files, isOne } = filesOf(paths, flags);
  const batches = isOne ? [files] : files.map((file) => [file]);
  if (batches.length > 1 && flags.promptGroupSizes)
    throw new UsageError('--prompt-group-sizes is for one batch, not for several');
  const engine = createEngine({ backend: 'cpu' });
  const total = new Surveyor();
  const surveys: FileSurvey[] = [];
  const failures: { file: string; error: string; status: number }[] = [];
  try {
    for (const together of batches) {
      try {
        surveys.push(await inspectFiles(engine, together, flags, total));
      } catch (error) {
        if (batches.length === 1 || !(error instanceof RollnormError) || error instanceof UsageError) throw error;
        process.stderr.write(`rollnorm: ${printable(error.message)}\n`);
        const { message, exitStatus } = error;
        failures.push({ file: nameOf(together), error: message, status: exitStatus });
      }
    }
  } finally {
    await engine.close();
  }
  await print(textOf(surveys, surveys.length > 1 ? total.finish() : null, failures, flags.json ?? false));
  if (failures.length > 0) process.exitCode = Math.max(...failures.map(({ status }) => status));
}

async function inspectFiles(
  engine: Engine,
  files: readonly string[],
  flags: Flags,
  total: Surveyor,
): Promise<FileSurvey> {
  const options = withRewardWeights(ruleOptions(flags), flags);
  const { perReward } = checkOptions(options).estimator;
  const surveyor = new Surveyor();
  const together = files.length > 1 ? { ...flags, oneBatch: true as const } : flags;
  let comparison: RecordedComparison | null = null;
  let batchNumber = 0;
  for await (const batch of readBatches(files, together, perReward)) {
    const own = optionsFor(batch, options, batchNumber++);
    const { columns, recorded } = batch;
    const look = await lookAt(engine, columns, own);
    surveyor.add(look, recorded, batch.warnings);
    // Places in a batch of several files name them already.
    total.add(look, recorded, batch.warnings, files.length > 1 ? '' : `${nameOf(files)}: `);
    const column = inputLayout(flags, perReward).recorded?.text;
    const compares = recorded && look.asked && column !== undefined && batch.rows === null;
    if (compares) comparison = await compareRecorded(column, recorded, look.asked.advantages, columns, own, engine);
  }
  return { file: nameOf(files), ...surveyor.finish(), comparison };
}

function textOf(
  surveys: readonly FileSurvey[],
  total: Survey | null,
  failures: readonly { file: string; error: string }[],
  json: boolean,
): string {
  if (json) {
    const failed = failures.map(({ file, error }) => ({ file, error }));
    return `${JSON.stringify({ version: packageVersion(), files: surveys, total, failures: failed }, null, 2)}\n`;
  }
  const look = { blocks: process.stdout.isTTY === true, display: printable };
  const texts = surveys.map((survey) =>
    renderSurvey(survey.file, survey, survey.comparison && recordedText(survey.comparison), look),
  );
  if (total) texts.push(renderSurvey(`all ${surveys.length} files`, total, null, look));
  return texts.join('\n');
}

const recordedText = (comparison: RecordedComparison) =>
  describeRecorded(comparison)
    .replace(/^rollnorm: the advantages that the file carries/, 'they')
    .trimEnd();

const nameOf = (files: readonly string[]) => files.map((file) => (file === '-' ? 'stdin' : file)).join(', ');
