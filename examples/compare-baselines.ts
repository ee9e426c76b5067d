/** Normalizes examples/rollouts.jsonl once per rollout and once per row, and shows the two side by side. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';

// A reader that goes away, such as head, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

interface Row {
  group_index: number;
  rollout_id: string;
  raw_reward: number;
  advantage: number;
}

const root = new URL('../../', import.meta.url);
const command = fileURLToPath(new URL('dist/src/main.js', root));

function normalize(...options: string[]): Row[] {
  const args = ['normalize', 'examples/rollouts.jsonl', ...options];
  process.stdout.write(`$ rollnorm ${args.join(' ')}\n`);
  const run = spawnSync(process.execPath, [command, ...args], { cwd: fileURLToPath(root), encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr);
  process.stdout.write(run.stderr.replaceAll(/^/gm, '  ').trimEnd() + '\n');
  return run.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The baseline is what a rollout of the group is compared with: the mean that its rows, or its rollouts, have. */
function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const perRollout = normalize();
const perRow = normalize('--siblings', 'rows');
const spell = (value: number) => (value > 0 ? '+' : '') + value.toFixed(3);

const both = perRollout.map((row, i) => ({ ...row, rowWise: perRow[i].advantage }));

for (const [group, rows] of groupBy(both, (row) => row.group_index)) {
  const rollouts = [...groupBy(rows, (row) => row.rollout_id)];
  const table = new Table({
    head: ['rollout', 'rows', 'reward', 'advantage, row-weighted', 'advantage, per rollout'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
  for (const [id, siblings] of rollouts) {
    const [{ raw_reward, rowWise, advantage }] = siblings;
    table.push([id, siblings.length, raw_reward, spell(rowWise), spell(advantage)]);
  }
  const rowBaseline = mean(rows.map((row) => row.raw_reward));
  const rolloutBaseline = mean(rollouts.map(([, [first]]) => first.raw_reward));
  table.push([{ content: 'baseline of the group', colSpan: 3 }, rowBaseline.toFixed(3), rolloutBaseline.toFixed(3)]);
  process.stdout.write(`\nPrompt group ${group}\n${table}\n`);
}
