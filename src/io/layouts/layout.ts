/** Where a layout keeps what a row is made of. Plain data: it goes to worker threads as it is. */
import type { Reference } from './reference.ts';

/** The text before the nth separator, from the left (`>`) or from the right (`<`). */
export interface Cut {
  readonly separator: string;
  readonly count: number;
  readonly from: 'left' | 'right';
}

export interface IdPart {
  readonly column: Reference;
  readonly cut?: Cut;
}

/** An id: one column, or several joined; where one of them is absent, what `otherwise` says. */
export interface IdSource {
  readonly parts: readonly IdPart[];
  readonly otherwise?: IdSource;
}

export interface RewardSource {
  readonly columns: readonly { readonly column: Reference; readonly weight: number }[];
  /** The reward is the sum of weight x column (RewardSum). */
  readonly isSum: boolean;
  /** The column is an object of {score, weight} members, whose weighted sum is the reward. */
  readonly scored: boolean;
  /** Text that spells a number counts as that number. */
  readonly fromText: boolean;
  /** Which member counts where the reward is an object. */
  readonly key?: string;
}

/** A number of a row beside its reward: one column, or one member of an object. */
export interface NumberSource {
  readonly column: Reference;
  readonly key?: string;
}

export interface RemovedSource {
  readonly column: Reference;
  /** `true`: where it is true; `false`: where it is false; `zero`: where it is 0; `present`: where it is not null. */
  readonly when: 'true' | 'false' | 'zero' | 'present';
}

export const STATUS_FLAGS = ['truncated', 'aborted', 'failed'] as const;

export interface StatusSource {
  readonly column: Reference;
  /** The column is a flag, and this is the status where it is true; else it is the status in words. */
  readonly whenTrue?: (typeof STATUS_FLAGS)[number];
}

export interface MaskSource {
  readonly column: Reference;
  /** Which entries are trained: `ones`, 1 and true; `labels`, all but -100. */
  readonly counts: 'ones' | 'labels';
}

/** A field that the user himself has named the columns of, which some row must then have. */
export interface MappedField {
  readonly field: string;
  /** As it was written. */
  readonly text: string;
  /** Texts of references: all of one entry must be met. */
  readonly columns: readonly (readonly string[])[];
}

export interface Layout {
  readonly preset: string;
  readonly mapped?: readonly MappedField[];
  readonly group_index?: IdSource;
  readonly rollout_id?: IdSource;
  readonly index?: IdSource;
  readonly reward?: RewardSource;
  /** Several rewards that are kept apart; a row's reward is their sum. */
  readonly rewardParts?: readonly NumberSource[];
  /** What remax subtracts. */
  readonly baseline?: NumberSource;
  readonly loss_mask?: MaskSource;
  readonly response_length?: Reference;
  /** Taken off response_length. */
  readonly prompt_length?: Reference;
  readonly trainable_tokens?: Reference;
  readonly remove_sample?: RemovedSource;
  readonly status?: StatusSource;
  /** An advantage that the file carries of its own, to compare with. */
  readonly recorded?: Reference;
  /** Splits a file into batches. */
  readonly batch?: IdSource;
  /** Joins rows with those of another file. */
  readonly key?: IdSource;
  /** Every so many rows in turn are a group. */
  readonly groupSize?: number;
  /** A file is one JSON document, whatever its lines. */
  readonly document: boolean;
}

export const ID_FIELDS = ['group_index', 'rollout_id', 'index', 'batch', 'key'] as const;
export type IdField = (typeof ID_FIELDS)[number];

/** Every column that the layout looks at, for formats that must be told beforehand. */
export function referencesOf(layout: Layout): Reference[] {
  const ids = ID_FIELDS.flatMap((field) => referencesOfId(layout[field]));
  const rewards = layout.rewardParts ? [] : (layout.reward?.columns.map(({ column }) => column) ?? []);
  const others = [
    layout.loss_mask?.column,
    layout.response_length,
    layout.prompt_length,
    layout.trainable_tokens,
    layout.remove_sample?.column,
    layout.status?.column,
    layout.recorded,
  ];
  const numbers = numberSources(layout).map(({ column }) => column);
  return [...ids, ...rewards, ...numbers, ...others.filter((reference) => reference !== undefined)];
}

/** The numbers beside the reward in the order in which readers keep them: the several rewards, then the baseline. */
export function numberSources({ rewardParts = [], baseline }: Layout): readonly NumberSource[] {
  return baseline ? [...rewardParts, baseline] : rewardParts;
}

/** The column, or the member of it. */
export function referenceOf({ column, key }: NumberSource): Reference {
  if (key === undefined) return column;
  return { text: nameOfNumber({ column, key }), steps: [...column.steps, key] };
}

/** As messages name it: `reward["format"]`. */
export function nameOfNumber({ column, key }: NumberSource): string {
  return key === undefined ? column.text : `${column.text}[${JSON.stringify(key)}]`;
}

/** The columns of which it must be told whether any row has them. */
export function mappedColumns(layout: Layout): string[] {
  return [...new Set((layout.mapped ?? []).flatMap(({ columns }) => columns.flat()))];
}

function referencesOfId(source: IdSource | undefined): Reference[] {
  if (!source) return [];
  return [...source.parts.map(({ column }) => column), ...referencesOfId(source.otherwise)];
}
