/** From the columns that a layout refers to, to what a columnar file is asked for. */
import { InputError } from '../../errors.ts';
import { listKeys } from '../../samples/assembler.ts';
import { addedNames, type OutputFields } from '../layouts/fields.ts';
import { type Layout, numberSources, referenceOf, referencesOf } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER, type Reference } from '../layouts/reference.ts';
import type { ColumnInfo, Vector, VectorRequest } from '../vectors.ts';

/** Vectors by the text of their reference; a column that the file does not have is null. */
export type VectorOf = (reference: Reference | undefined) => Vector | null;

/** What is asked for at once, and, by their texts, what is read only where it turns out to be needed. */
export interface Requests {
  readonly requests: readonly VectorRequest[];
  readonly texts: readonly string[];
  readonly later: ReadonlyMap<string, VectorRequest>;
}

/**
 * An index that is not kept is needed by rows without a rollout_id alone, of which most files have none.
 * @throws InputError where a layout's columns cannot be those of a columnar file
 */
export function requestsOf(layout: Layout, keepIndexes: boolean, columns: readonly ColumnInfo[]): Requests {
  const later = allRequests(layout, columns);
  const { index: _, ...others } = layout;
  const wanted = keepIndexes || !layout.rollout_id ? new Map(later) : allRequests(others, columns);
  for (const text of wanted.keys()) later.delete(text);
  return { requests: [...wanted.values()], texts: [...wanted.keys()], later };
}

function allRequests(layout: Layout, columns: readonly ColumnInfo[]): Map<string, VectorRequest> {
  const wanted = new Map<string, VectorRequest>();
  const sources = numberSources(layout);
  for (const reference of referencesOf(layout)) {
    // Asked for below, by their keys.
    if (sources.some(({ column, key }) => key !== undefined && column.text === reference.text)) continue;
    if (reference.text === RECORD_NUMBER || reference.text === ENTRY_NUMBER) continue;
    const isReward = layout.reward?.columns.some(({ column }) => column.text === reference.text) ?? false;
    const key = isReward ? layout.reward?.key : undefined;
    const path = pathOf(reference, key, columns);
    if (path === null) continue;
    const as = reference.text === layout.loss_mask?.column.text ? 'mask' : 'value';
    wanted.set(reference.text, { path, as });
  }
  for (const source of sources) {
    const path = pathOf(source.column, source.key, columns);
    if (path !== null) wanted.set(referenceOf(source).text, { path, as: 'value' });
  }
  return wanted;
}

export function vectorFinder(
  { requests, texts, later }: Requests,
  read: (requests: readonly VectorRequest[]) => readonly Vector[],
): VectorOf {
  const vectors = read(requests);
  const byText = new Map(texts.map((text, i) => [text, vectors[i]]));
  return (reference) => {
    if (!reference) return null;
    const request = later.get(reference.text);
    if (request && !byText.has(reference.text)) byText.set(reference.text, read([request])[0]);
    return byText.get(reference.text) ?? null;
  };
}

/** @throws InputError where the output's fields are there already */
export function requireFreeColumns(columns: readonly ColumnInfo[], fields: OutputFields | null): void {
  if (!fields || fields.overwrite) return;
  for (const { name, remedy } of addedNames(fields)) {
    if (!columns.some(({ path }) => path[0] === name)) continue;
    throw new InputError(`column ${JSON.stringify(name)} is there already; ${remedy}, or replace it with --overwrite`);
  }
}

function pathOf(reference: Reference, key: string | undefined, columns: readonly ColumnInfo[]): string[] | null {
  const path: string[] = [];
  for (const [i, step] of reference.steps.entries()) {
    // A column of lists of one entry each is read as that entry.
    if (step === 0 && i === reference.steps.length - 1) continue;
    if (typeof step !== 'string' || step === '[]' || step === '.*')
      throw new InputError(`${reference.text}: rows and values inside lists are only read from JSON`);
    path.push(step);
  }
  const below = columns.filter((column) => path.every((part, i) => column.path[i] === part));
  const members = below.filter((column) => column.path.length > path.length);
  if (key === undefined && members.length === below.length && below.length > 0) {
    const keys = listKeys([...new Set(members.map((column) => column.path[path.length]))]);
    throw new InputError(`${reference.text} is an object, so --reward-key must name one of its keys: ${keys}`);
  }
  if (key === undefined) return below.length > 0 ? path : null;
  if (below.length === 0) return null;
  if (members.some((column) => column.path[path.length] === key)) return [...path, key];
  const keys = listKeys([...new Set(members.map((column) => column.path[path.length]))]);
  throw new InputError(`no row's reward has the key ${JSON.stringify(key)}; keys there are: ${keys}`);
}
