/** A survey as one screen of text. */
import type { IdSurvey, Share, Survey, ValueSurvey } from './survey.ts';
import type { Bin } from './tally.ts';

export interface Look {
  /** Block characters; else plain ASCII. */
  readonly blocks: boolean;
  /** How a text from outside is made safe to show. */
  readonly display: (text: string) => string;
}

const WIDTH = 100;
const LABEL_WIDTH = 10;

/** @param recorded how the advantages that the file carries compare with those of a normalization */
export function renderSurvey(title: string, survey: Survey, recorded: string | null, look: Look): string {
  const { rows, rollouts, groups, batches } = survey;
  const counts = `${plural(rows, 'row')}, ${plural(rollouts, 'rollout')}, ${plural(groups, 'prompt group')}`;
  const lines = [`${title}: ${counts}${batches > 1 ? ` in ${batches} batches` : ''}`];
  if (rows > 0) {
    lines.push('', ...histograms(survey, look.blocks), '');
    lines.push(...field('groups', groupLines(survey)), ...field('rewards', rewardLines(survey)));
    lines.push(...field('success', [successLine(survey)]), ...field('siblings', siblingLines(survey)));
    lines.push(...field('ids', idLines(survey)), ...field('tokens', [tokenLine(survey)]));
    lines.push(...field('status', [statusLine(survey)]));
    if (survey.recorded) lines.push(...field('recorded', [recordedLine(survey.recorded, recorded)]));
  }
  lines.push(
    ...field(
      'refused',
      survey.refusals.map((refusal) => `normalize would refuse this: ${refusal}`),
    ),
  );
  lines.push(...field('warnings', survey.warnings.length > 0 ? survey.warnings : ['none']));
  return lines.map((line) => `${look.display(line.trimEnd())}\n`).join('');
}

/** Long lines go on below their beginning. */
function field(label: string, lines: readonly string[]): string[] {
  const wrapped = lines.flatMap((line) => wrap(line, WIDTH - LABEL_WIDTH));
  return wrapped.map((line, i) => (i === 0 ? label : '').padEnd(LABEL_WIDTH) + line);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `  ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

const MOST_BINS = 8;
const COLUMN_WIDTH = 32;

function histograms({ fan_out, group_sizes, rewards }: Survey, blocks: boolean): string[] {
  const columns = [
    ['rows per rollout', ...bars(fan_out.histogram, sizeLabel, blocks)],
    ['rollouts per group', ...bars(group_sizes.histogram, sizeLabel, blocks)],
    ['rows by reward', ...bars(rewards.histogram, valueLabel, blocks)],
  ];
  const height = Math.max(...columns.map((column) => column.length));
  return Array.from({ length: height }, (_, i) =>
    columns.map((column) => (column[i] ?? '').padEnd(COLUMN_WIDTH)).join('  '),
  );
}

function bars(all: readonly Bin[], label: (bin: Bin) => string, blocks: boolean): string[] {
  let bins = all;
  while (bins.length > MOST_BINS) bins = pairs(bins);
  const labels = bins.map(label);
  const most = Math.max(...bins.map(({ count }) => count), 1);
  const labelWidth = Math.max(...labels.map(({ length }) => length), 0);
  const countWidth = String(most).length;
  const room = Math.max(4, COLUMN_WIDTH - labelWidth - countWidth - 2);
  return bins.map(({ count }, i) => {
    const bar = blocks ? blockBar(count / most, room) : '#'.repeat(Math.ceil((count / most) * room));
    return `${labels[i].padEnd(labelWidth)} ${String(count).padStart(countWidth)} ${bar}`;
  });
}

function pairs(bins: readonly Bin[]): Bin[] {
  const merged: Bin[] = [];
  for (let i = 0; i < bins.length; i += 2) {
    const right = bins[i + 1] ?? { ...bins[i], count: 0 };
    merged.push({ from: bins[i].from, to: right.to, count: bins[i].count + right.count });
  }
  return merged;
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

function blockBar(part: number, room: number): string {
  const eighths = Math.ceil(part * room * 8);
  return '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7];
}

const sizeLabel = ({ from, to }: Bin) => (from === to ? String(from) : `${from}-${to}`);
const valueLabel = ({ from, to }: Bin) => (from === to ? short(from) : `${short(from)}..${short(to)}`);

function groupLines({ grouping, groups, flat_groups, singleton_groups, group_sizes, fan_out }: Survey): string[] {
  const lines: string[] = [];
  if (grouping) {
    const { tier, rule, tiers } = grouping;
    lines.push(`tier ${tier} (${rule}): ${tiers[tier - 1].reason}`);
    for (const { tier: better, reason } of tiers.slice(0, tier - 1)) lines.push(`tier ${better} not: ${reason}`);
    const others = tiers.slice(tier).filter(({ applies }) => applies);
    if (others.length > 0) lines.push(`would apply too: ${others.map((other) => `tier ${other.tier}`).join(', ')}`);
  }
  const sizes = `${short(group_sizes.mean ?? 0)} rollouts in a group and ${short(fan_out.mean ?? 0)} rows in a rollout on average`;
  if (flat_groups === null || singleton_groups === null) return [...lines, sizes];
  const several = groups - singleton_groups;
  const flat =
    several === 0
      ? 'no group has two or more'
      : `${flat_groups} of ${several} groups of two or more are flat (${percent(flat_groups, several)}), ${singleton_groups} have one rollout`;
  return [...lines, `${sizes}; ${flat}`];
}

function rewardLines({ rewards }: Survey): string[] {
  const { count, missing, first_missing, distinct } = rewards;
  const lines = [
    count === 0 ? 'none' : `${rangeText(rewards)}${distinct ? `; ${plural(distinct.length, 'value')}` : ''}`,
  ];
  if (missing === 0) return lines;
  const first = first_missing ? `, the first at ${first_missing.place} (${first_missing.found})` : '';
  return [...lines, `missing in ${plural(missing, 'row')}${first}`];
}

function rangeText({ min, mean, max }: ValueSurvey): string {
  return `${min} to ${max}, mean ${mean === null ? 'past binary64' : short(mean)}`;
}

function successLine({ success }: Survey): string {
  if (!success) return 'no rewards';
  const { means, by_row, by_rollout } = success;
  const rows = `${shareText(by_row)} rows`;
  if (!by_rollout) return `${means}: ${rows}; by rollout not known`;
  const bias = (by_row.share - by_rollout.share) * 100;
  const said = `fan-out moves it by ${bias >= 0 ? '+' : ''}${bias.toFixed(1)} points where rows are counted`;
  return `${means}: ${shareText(by_rollout)} rollouts, ${rows}; ${said}`;
}

const shareText = ({ count, of, share }: Share) => `${(share * 100).toFixed(1)} % (${count} of ${of})`;

function siblingLines({ siblings, rollouts }: Survey): string[] {
  const { multi_row, disagreeing, doubtful_representatives: doubtful, examples } = siblings;
  const lines = [
    `${multi_row} of ${rollouts} rollouts have several rows; in ${disagreeing} of these the rewards differ${doubtful ? `, in ${doubtful} the representative is doubtful` : ''}`,
  ];
  for (const { rollout, rows, reward } of examples)
    lines.push(
      `${rollout}${reward === undefined ? '' : `, ${reward}`}: ${rows.map(({ place, reward }) => `${place} ${reward ?? 'missing'}`).join(', ')}`,
    );
  return lines;
}

function idLines({ ids, rows }: Survey): string[] {
  const { group_index, rollout_id, index, nameless, merged_keys, repeated_keys } = ids;
  const parts = [idText('group_index', group_index), idText('rollout_id', rollout_id)];
  if (rollout_id.missing > 0) parts.push(idText('index instead', index));
  if (nameless > 0) parts.push(`${nameless} of ${rows} rows have neither: rollouts by themselves`);
  const lines = [parts.join('; ')];
  if (merged_keys.count > 0)
    lines.push(
      `${merged_keys.count} rollouts join rows by rollout_id with rows by index, the first ${merged_keys.first}`,
    );
  if (repeated_keys.count > 0)
    lines.push(`${repeated_keys.count} keys are in more than one group, the first ${repeated_keys.first}`);
  return lines;
}

function idText(name: string, { kind, rows, missing }: IdSurvey): string {
  if (kind === null) return `no ${name}`;
  return `${name} ${kind}${missing > 0 ? ` on ${rows} rows, missing on ${missing}` : ''}`;
}

function tokenLine({ tokens, rows }: Survey): string {
  if (!tokens.known) return 'not known: no row has loss_mask, response_length or trainable_tokens';
  return `${rangeText(tokens)} trainable a row; ${tokens.untrainable} of ${rows} rows have none`;
}

function statusLine({ statuses, unknown_statuses, removed }: Survey): string {
  const parts = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
  if (unknown_statuses.length > 0)
    parts.push(`other: ${unknown_statuses.map((text) => JSON.stringify(text)).join(', ')}`);
  return `${parts.join(', ')}; ${removed} removed`;
}

function recordedLine(values: ValueSurvey, comparison: string | null): string {
  const found = `${plural(values.count, 'row')} carry an advantage, ${rangeText(values)}`;
  return comparison === null ? found : `${found}; ${comparison}`;
}

/** For a glance: four digits. */
function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

const percent = (count: number, of: number) => `${((count / of) * 100).toFixed(0)} %`;

function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
