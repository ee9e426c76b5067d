/** An explanation as text for people. */
import type {
  Explanation,
  GroupExplanation,
  Instead,
  LikeExplanation,
  Member,
  Place,
  RolloutExplanation,
} from './explanation.ts';
import { isEquation, plural, spell } from './spelling.ts';

/** @param display how a text from outside is made safe to show */
export function renderExplanation(explanation: Explanation, display: (text: string) => string): string {
  const { grouping, rule, like, group, rollout, instead, advantage, backend, backend_reason } = explanation;
  const lines = [`${display(explanation.file)}, ${nameOf(explanation)}: advantage ${spell(advantage)}`, ''];
  const passed = grouping.passed_over.map(({ tier, reason }) => `tier ${tier} not: ${reason}`);
  lines.push(...field('rule', [ruleText(explanation), ...(like ? likeLines(like) : [])]));
  lines.push(...field('grouping', [`tier ${grouping.tier} (${grouping.rule}): ${grouping.reason}`, ...passed]));
  if (group) lines.push(...field('group', groupLines(group)));
  lines.push(...field('rollout', rolloutLines(rollout)));
  lines.push(...field('numbers', numberLines(explanation)));
  if (instead) lines.push(...field(`if ${instead.siblings}`, insteadLines(instead, explanation)));
  if (rule.baseline === 'pass-through')
    lines.push(
      ...field('note', ['pass-through: no groups, no siblings, no statistics; every row keeps its own reward']),
    );
  lines.push(...field('computed', [`on the ${backend === 'cpu' ? 'CPU' : 'GPU'} (${display(backend_reason)})`]));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

const LABEL_WIDTH = 13;

function field(label: string, lines: readonly string[]): string[] {
  return lines.map((line, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)} ${line}`);
}

/** `row 3 (line 4)`, or only one of them where the other says no more. */
function nameOf({ row, place }: Place): string {
  return place === `row ${row}` || place.endsWith(`: row ${row}`) ? `row ${row}` : `row ${row} (${place})`;
}

function ruleText({ rule }: Explanation): string {
  const extra = [`siblings ${rule.siblings}`];
  if (rule.exclude.length > 0) extra.push(`exclude ${rule.exclude.join(', ')}`);
  if (rule.min_std > 0) extra.push(`min-std ${spell(rule.min_std)}`);
  if (rule.clip_reward) extra.push(`rewards bounded to ${rule.clip_reward.map(spell).join(' to ')}`);
  if (rule.clip) extra.push(`advantages bounded to ${rule.clip.map(spell).join(' to ')}`);
  const settings = rule.baseline === 'pass-through' ? '' : `; ${extra.join('; ')}`;
  return `${rule.estimator}: ${rule.formula}${settings}`;
}

function likeLines({ name, repository, commit, theirs, changes, notes }: LikeExplanation): string[] {
  const called = theirs === null ? '' : `, there called ${theirs}`;
  const lines = [`like ${name} (${repository} ${commit}${called}):${changes.length === 0 ? ' the same rule' : ''}`];
  for (const { setting, default: usual, like, in_effect } of changes) {
    const beaten =
      JSON.stringify(in_effect) === JSON.stringify(like) ? '' : `; here ${valueText(in_effect)}, as was asked for`;
    lines.push(`  ${setting} ${valueText(like)} instead of ${valueText(usual)}${beaten}`);
  }
  return [...lines, ...notes.map((note) => `  note: ${note}`)];
}

function valueText(value: unknown): string {
  if (value === null) return 'none';
  if (typeof value === 'number') return spell(value);
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.join(', ');
  return typeof value === 'object'
    ? Object.entries(value)
        .map(([name, own]) => `${name} ${own}`)
        .join(', ')
    : String(value);
}

function groupLines(group: GroupExplanation): string[] {
  const id = group.id === null ? '' : `, group_index ${group.id}`;
  const range =
    group.first.place === group.last.place ? group.first.place : `${group.first.place} to ${group.last.place}`;
  const out = Object.entries(group.left_out).map(([reason, count]) => `${count} ${reason}`);
  const lines = [
    `${group.group} of ${group.groups}${id}, ${range}: ${plural(group.rollouts, 'rollout')} in ${plural(group.rows, 'row')}; ${group.counted} counted, ${out.length > 0 ? `left out: ${out.join(', ')}` : 'none left out'}`,
  ];
  const cells = group.members.map(memberCells);
  const rows = table([['rollout', 'stands for it', 'rows', 'tokens', 'reward', 'advantage', ''], ...cells]);
  for (const [i, row] of rows.entries()) {
    lines.push(`  ${row}`);
    // Row 0 is the head, so row i is of member i - 1, and the next one is member i.
    const skipped = i > 0 && i < group.members.length ? group.members[i].member - group.members[i - 1].member - 1 : 0;
    if (skipped > 0) lines.push(`  ... ${skipped} more`);
  }
  const listed = new Set(group.members.map(({ member }) => member));
  const hidden = group.left_out_members.filter(({ member }) => !listed.has(member));
  for (const member of hidden) lines.push(`  left out: ${idText(member)} (${member.place}): ${member.left_out}`);
  return lines;
}

const idText = ({ id, place }: Member) => id ?? place;

function memberCells(member: Member): string[] {
  const rewards = member.rewards.map((reward) => (reward === null ? '-' : spell(reward))).join(' ');
  const marks = [member.left_out === null ? '' : `left out: ${member.left_out}`, member.asked ? '<- this one' : ''];
  const tokens = member.tokens === null ? '?' : String(member.tokens);
  const mark = marks.filter(Boolean).join(' ');
  return [idText(member), member.place, String(member.rows), tokens, rewards, spell(member.advantage), mark];
}

function rolloutLines(rollout: RolloutExplanation): string[] {
  const name =
    rollout.id === null ? 'without rollout_id and index, a row by itself' : `${rollout.id_field} ${rollout.id}`;
  const cells = rollout.siblings.map((row) => {
    // A row that lacks one of several rewards lacks all.
    const rewards = row.rewards.includes(null) ? 'missing' : row.rewards.map(spell).join(' ');
    const marks = [
      row.removed ? 'removed' : '',
      row.status === 'completed' ? '' : row.status,
      row.representative ? 'stands for the rollout' : '',
      row.asked ? '<- asked' : '',
    ];
    return [row.place, row.tokens === null ? '?' : String(row.tokens), rewards, marks.filter(Boolean).join(', ')];
  });
  const lines = [`${name}: ${plural(rollout.rows, 'row')}`];
  lines.push(...table([['row', 'tokens', 'reward', ''], ...cells]).map((line) => `  ${line}`));
  if (rollout.siblings_omitted > 0) lines.push(`  ... ${rollout.siblings_omitted} more`);
  const stands = rollout.representative ? `${rollout.representative.place} stands for it: ` : '';
  lines.push(stands + rollout.why);
  if (rollout.disagreeing) lines.push('its rows have different rewards');
  return lines;
}

function numberLines({ steps }: Explanation): string[] {
  const named = steps.some(({ reward }) => reward !== null);
  const cells = steps.map(({ step, reward, text, value }) => {
    const told = value === null || isEquation(text) ? text : `${spell(value)}  ${text}`;
    return [...(named ? [reward ?? ''] : []), step.replace('_', ' '), told];
  });
  return table(cells, true);
}

function insteadLines({ siblings, counted, means, deviations, advantage, error }: Instead, own: Explanation): string[] {
  const what =
    siblings === 'rows'
      ? 'every row counted by itself (--siblings rows)'
      : 'every rollout counted once (--siblings mainstream)';
  if (error !== null) return [`${what}: ${error}`];
  const list = (values: readonly (number | null)[]) => values.map(spell).join(' ');
  const here = own.statistics.map(({ mean }) => mean);
  const spread = own.statistics.map(({ deviation }) => deviation);
  return [
    what,
    ...table([
      ['', 'counted', 'mean', 'standard deviation', 'advantage'],
      [siblings, String(counted), list(means), list(deviations), spell(advantage)],
      [`here (${own.rule.siblings})`, String(own.group?.counted ?? 0), list(here), list(spread), spell(own.advantage)],
    ]).map((line) => `  ${line}`),
  ];
}

/** Columns two apart; numbers to the right unless `left`. */
function table(rows: readonly (readonly string[])[], left = false): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const isNumber = (column: number) => !left && rows.slice(1).every((row) => /^[-\d.e+? ]*$/.test(row[column]));
  return rows.map((row) =>
    row
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}
