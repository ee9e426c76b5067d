/** From a preset's name and what the user maps to a layout. */
import { UsageError } from '../../errors.ts';
import {
  type Cut,
  type IdPart,
  type IdSource,
  type Layout,
  type MappedField,
  type RewardSource,
  STATUS_FLAGS,
} from './layout.ts';
import { PRESETS, type Preset, type PresetField } from './presets.ts';
import { ENTRY_NUMBER, makesRows, parseReference, RECORD_NUMBER, splitJoined } from './reference.ts';

export interface LayoutRequest {
  /** `--from` */
  readonly preset?: string | undefined;
  /** `--map`, each as `field=column`. */
  readonly map?: readonly string[] | undefined;
  /** `--reward-key`: one, or several that are kept apart or added up. */
  readonly rewardKeys?: readonly string[] | undefined;
  /** Several rewards of a row are kept apart. */
  readonly rewardsApart?: boolean | undefined;
  /** `--reward-columns`: names and weights. */
  readonly rewardColumns?: readonly { readonly name: string; readonly weight: number }[] | undefined;
  /** `--group-size` */
  readonly groupSize?: number | undefined;
  /** `--batch-by` */
  readonly batchBy?: string | undefined;
  /** `--on` */
  readonly key?: string | undefined;
}

/** @throws UsageError on names that are not known and on what the preset needs and was not given */
export function resolveLayout(request: LayoutRequest): Layout {
  const preset = presetNamed(request.preset ?? 'miles');
  const maps = (request.map ?? []).map(splitMap);
  const fields: Partial<Record<PresetField, string>> = { ...preset.fields, ...Object.fromEntries(maps) };
  // A mask given by hand replaces the preset's own kind of mask.
  const isMapped = (wanted: PresetField) => maps.some(([field]) => field === wanted);
  if (isMapped('reward') && request.rewardColumns !== undefined)
    throw new UsageError('--map reward= and --reward-columns exclude each other: both say what the reward is');
  if (isMapped('loss_mask') && isMapped('label_mask'))
    throw new UsageError('--map loss_mask= and --map label_mask= exclude each other: a row has one mask');
  if (isMapped('loss_mask')) delete fields.label_mask;
  if (isMapped('label_mask')) delete fields.loss_mask;
  const groupsAreMapped = isMapped('group_index');
  requireOptions(preset, request, groupsAreMapped);
  return withMapped(
    withoutUndefined({
      preset: preset.name,
      group_index: fields.group_index === undefined ? undefined : parseId(fields.group_index),
      rollout_id: fields.rollout_id === undefined ? undefined : parseId(fields.rollout_id),
      index: fields.index === undefined ? undefined : parseId(fields.index),
      reward: rewardSource(preset, fields.reward, request),
      rewardParts: rewardParts(fields.reward, request),
      baseline: fields.baseline === undefined ? undefined : { column: parseReference(fields.baseline) },
      loss_mask: maskSource(fields),
      response_length: optional(fields.response_length),
      prompt_length: optional(fields.prompt_length),
      trainable_tokens: optional(fields.trainable_tokens),
      remove_sample: fields.remove_sample === undefined ? undefined : parseRemoved(fields.remove_sample),
      status: fields.status === undefined ? undefined : parseStatus(fields.status),
      recorded: optional(fields.recorded),
      batch: request.batchBy === undefined ? undefined : parseId(request.batchBy),
      key: request.key === undefined ? undefined : parseId(request.key),
      groupSize: request.groupSize,
      document: preset.document ?? false,
    }),
    maps,
  );
}

/** With what must be met of the columns that the user named. */
function withMapped(layout: Layout, maps: readonly (readonly [PresetField, string])[]): Layout {
  const mapped = [...new Map(maps)]
    .map(([field, text]): MappedField => ({ field, text, columns: columnsOfField(layout, field) }))
    .filter(({ columns }) => columns.length > 0);
  return mapped.length > 0 ? { ...layout, mapped } : layout;
}

function columnsOfField(layout: Layout, field: PresetField): string[][] {
  switch (field) {
    case 'group_index':
    case 'rollout_id':
    case 'index':
      return columnsOfId(layout[field]);
    case 'reward':
      return layout.reward && !layout.reward.isSum ? [[layout.reward.columns[0].column.text]] : [];
    case 'baseline':
      return layout.baseline ? [[layout.baseline.column.text]] : [];
    case 'loss_mask':
    case 'label_mask':
      return layout.loss_mask ? [[layout.loss_mask.column.text]] : [];
    case 'remove_sample':
    case 'status':
      return layout[field] ? [[layout[field].column.text]] : [];
    default:
      return layout[field] ? [[layout[field].text]] : [];
  }
}

function columnsOfId(source: IdSource | undefined): string[][] {
  if (!source) return [];
  const texts = source.parts.map(({ column }) => column.text);
  return [texts.filter((text) => text !== RECORD_NUMBER && text !== ENTRY_NUMBER), ...columnsOfId(source.otherwise)];
}

export function presetNamed(name: string): Preset {
  const preset = PRESETS.find((candidate) => candidate.name === name);
  if (preset) return preset;
  throw new UsageError(`unknown preset '${name}'; known: ${PRESETS.map((known) => known.name).join(', ')}`);
}

/** Whether a record of the layout holds several rows, so that there is no line for each. */
export function recordsHoldRows(layout: Layout): boolean {
  const ids = [layout.group_index, layout.rollout_id, layout.index].flatMap((source) => source?.parts ?? []);
  const columns = [...ids, ...(layout.reward?.columns ?? [])].map(({ column }) => column);
  if (layout.loss_mask) columns.push(layout.loss_mask.column);
  return columns.some(makesRows);
}

const FIELDS: readonly PresetField[] = [
  ...(['group_index', 'rollout_id', 'index', 'reward', 'baseline', 'loss_mask', 'label_mask'] as const),
  'response_length',
  ...(['prompt_length', 'trainable_tokens', 'remove_sample', 'status', 'recorded'] as const),
];

function splitMap(text: string): [PresetField, string] {
  const at = text.indexOf('=');
  const field = text.slice(0, Math.max(at, 0)).trim() as PresetField;
  const column = text.slice(at + 1).trim();
  if (at <= 0 || column === '') throw new UsageError(`--map ${text}: expected field=column`);
  if (FIELDS.includes(field)) return [field, column];
  throw new UsageError(`--map ${text}: unknown field '${field}'; known: ${FIELDS.join(', ')}`);
}

function requireOptions(preset: Preset, request: LayoutRequest, groupsAreMapped: boolean): void {
  if (preset.consecutive && request.groupSize === undefined && !groupsAreMapped)
    throw new UsageError(`--from ${preset.name} needs --group-size: its groups are runs of so many rows`);
  if (preset.joinedOn && request.key === undefined)
    throw new UsageError(`--from ${preset.name} needs --join: the file has neither groups nor rewards`);
  if (preset.rewardColumns && request.rewardColumns === undefined && !request.map?.some((map) => /^reward=/.test(map)))
    throw new UsageError(
      `--from ${preset.name} needs --reward-columns NAME=WEIGHT,...: the weights are not in the file`,
    );
}

/** `a`, `a+b`, `a|b` (b where a is absent), `a<_2` (less its last two parts), `a>:1` (its first part). */
export function parseId(text: string): IdSource {
  const [first, ...rest] = text.split('|');
  const parts = splitJoined(first).map(parsePart);
  return rest.length === 0 ? { parts } : { parts, otherwise: parseId(rest.join('|')) };
}

const CUT = /^(.*)([<>])(.+?)(\d+)$/;

function parsePart(text: string): IdPart {
  const match = CUT.exec(text);
  if (!match) return { column: parseReference(text) };
  const [, column, side, separator, count] = match;
  if (Number(count) === 0) throw new UsageError(`'${text}': the number of parts must be 1 or more`);
  const cut: Cut = { separator, count: Number(count), from: side === '<' ? 'right' : 'left' };
  return { column: parseReference(column), cut };
}

const SCORED = '=scored';

function rewardSource(preset: Preset, field: string | undefined, request: LayoutRequest): RewardSource | undefined {
  const fromText = preset.textRewards ?? false;
  if (request.rewardColumns !== undefined) {
    if (request.rewardKeys !== undefined) throw new UsageError('--reward-columns and --reward-key exclude each other');
    const columns = request.rewardColumns.map(({ name, weight }) => ({ column: parseReference(name), weight }));
    return { columns, isSum: true, scored: false, fromText };
  }
  if (field === undefined) return undefined;
  const scored = field.endsWith(SCORED);
  const column = parseReference(scored ? field.slice(0, -SCORED.length) : field);
  const [only] = request.rewardKeys ?? [];
  const key = only === undefined ? {} : { key: only };
  return { columns: [{ column, weight: 1 }], isSum: false, scored, fromText, ...key };
}

/** Several rewards are kept apart where they are asked for so, or where there is no other weight than theirs. */
function rewardParts(field: string | undefined, request: LayoutRequest): Layout['rewardParts'] {
  const { rewardKeys: keys = [], rewardColumns, rewardsApart } = request;
  if (keys.length > 1 && field !== undefined) {
    const twice = keys.find((key, i) => keys.indexOf(key) !== i);
    if (twice !== undefined) throw new UsageError(`--reward-key ${twice} is given twice`);
    return keys.map((key) => ({ column: parseReference(field), key }));
  }
  return rewardsApart && rewardColumns
    ? rewardColumns.map(({ name }) => ({ column: parseReference(name) }))
    : undefined;
}

function maskSource(fields: Partial<Record<PresetField, string>>): Layout['loss_mask'] {
  if (fields.label_mask !== undefined) return { column: parseReference(fields.label_mask), counts: 'labels' };
  return fields.loss_mask === undefined ? undefined : { column: parseReference(fields.loss_mask), counts: 'ones' };
}

/** `a`: true; `!a`: false; `a=0`: zero; `a?`: not null. */
function parseRemoved(text: string): Layout['remove_sample'] {
  if (text.startsWith('!')) return { column: parseReference(text.slice(1)), when: 'false' };
  if (text.endsWith('=0')) return { column: parseReference(text.slice(0, -2)), when: 'zero' };
  if (text.endsWith('?')) return { column: parseReference(text.slice(0, -1)), when: 'present' };
  return { column: parseReference(text), when: 'true' };
}

/** `a`: the status in words; `a=truncated`: truncated where a is true. */
function parseStatus(text: string): Layout['status'] {
  const [column, flag] = text.split('=');
  if (flag === undefined) return { column: parseReference(column) };
  const whenTrue = STATUS_FLAGS.find((status) => status === flag);
  if (!whenTrue) throw new UsageError(`status=${text}: expected one of ${STATUS_FLAGS.join(', ')} after the column`);
  return { column: parseReference(column), whenTrue };
}

function optional(text: string | undefined) {
  return text === undefined ? undefined : parseReference(text);
}

function withoutUndefined(layout: { [K in keyof Layout]: Layout[K] | undefined }): Layout {
  return Object.fromEntries(Object.entries(layout).filter(([, value]) => value !== undefined)) as unknown as Layout;
}
