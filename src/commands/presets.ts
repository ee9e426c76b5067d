/** `rollnorm presets`: the layouts that are known, and which column each field comes from. */
import type { Command } from 'commander';
import { PRESETS, type Preset } from '../io/layouts/presets.ts';
import { presetNamed } from '../io/layouts/resolve-layout.ts';
import { print } from './print.ts';

export function addPresets(program: Command): void {
  program
    .command('presets')
    .summary('the layouts of files that --from knows')
    .description('Lists the presets of --from, each with the column that every field comes from.')
    .argument('[name]', 'only this one')
    .option('--json', 'as JSON')
    .addHelpText('after', SYNTAX)
    .action(async (name: string | undefined, { json }: { json?: true }) => {
      const presets = name === undefined ? PRESETS : [presetNamed(name)];
      await print(json ? `${JSON.stringify(presets, null, 2)}\n` : presets.map(describe).join('\n'));
    });
}

const SYNTAX = `
A column is written as in --map field=column:
  a.b        member b of the object a; a.0 is the first entry of the list a; a\\.b is one name
  a+b        ids of several columns joined;  a|b  b where a is absent
  a<_2       the text of a less its last two parts between _;  a>:1  its first part before :
  a[].b      every entry of the list a is a row;  a.*.b  the entries of a taken together
  #record    the number of the line or record;  #entry  the place in the list of rows
  remove_sample: a (is true), !a (is false), a=0 (is zero), a? (is there)
  status: a (in words), a=truncated (where a is true)
  reward: a, a=scored (an object of score and weight)
`;

function describe({ name, file, fields, options = [], notes, ...rules }: Preset): string {
  const lines = [name, `  ${file}`];
  for (const [field, column] of Object.entries(fields)) lines.push(`    ${field.padEnd(16)} ${column}`);
  if (rules.rewardColumns) lines.push(`    ${'reward'.padEnd(16)} the columns of --reward-columns`);
  if (rules.consecutive) lines.push(`    ${'group_index'.padEnd(16)} every --group-size rows in turn`);
  if (rules.joinedOn) lines.push(`    ${'--join'.padEnd(16)} on ${rules.joinedOn}`);
  lines.push(`  ${notes}`, ...options.map((option) => `  option: ${option}`));
  return `${lines.join('\n')}\n`;
}
