/** From the columns that a layout refers to, to what a columnar file is asked for. */
import { InputError } from '../../errors.ts';
import { listKeys } from '../../samples/assembler.ts';
import { addedNames, type OutputFields } from '../layouts/fields.ts';
import { type IdSource, type Layout, numberSources, referenceOf, referencesOf } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER, type Reference } from '../layouts/reference.ts';
import type { ColumnInfo, Vector, VectorRequest } from '../vectors.ts';

/** Vectors by the text of their reference; a column that the file does not have is null. */
export type VectorOf = (reference: Reference | undefined) => Vector | null;

/** What is asked for at once, and, by their texts, what is read only where it turns out to be needed. */
export interface Requests {
  readonly requests: readonly VectorRequest[];
  readonly texts: readonly string[];
  readonly later: ReadonlyMap<string, VectorRequest>;
  /** The index must be looked at, also where no row needs it: its column may hold what is no id. */
  readonly checksIndex: boolean;
}

/**
 * An index that is not kept is needed by rows without a rollout_id alone, of which most files have none.
 * @throws InputError where a layout's columns cannot be those of a columnar file
 */
export function requestsOf(layout: Layout, keepIndexes: boolean, columns: readonly ColumnInfo[]): Requests {
  const all = allRequests(layout, columns);
  const { index, ...others } = layout;
  const wanted = keepIndexes || !layout.rollout_id ? all : allRequests(others, columns);
  const later = new Map([...all].filter(([text]) => !wanted.has(text)));
  const checksIndex = index !== undefined && !isSurelyId(index, all, columns);
  return { requests: [...wanted.values()], texts: [...wanted.keys()], later, checksIndex };
}

/** Whatever stands in columns of these types is an id. */
const ID_TYPE = /^(dictionary<values=)?(u?int(8|16|32|64)|string(_view)?|(large_)?utf8(_view)?|null)(,.*>)?$/;

function isSurelyId(
  { parts, otherwise }: IdSource,
  requests: ReadonlyMap<string, VectorRequest>,
  columns: readonly ColumnInfo[],
): boolean {
  const areSure = parts.every(({ column, cut }) => {
    const request = requests.get(column.text);
    return !request || (!cut && ID_TYPE.test(columnAt(request.path, columns)?.type ?? ''));
  });
  return areSure && (!otherwise || isSurelyId(otherwise, requests, columns));
}

function columnAt(path: readonly string[], columns: readonly ColumnInfo[]): ColumnInfo | undefined {
  return columns.find(
    (column) => column.path.length === path.length && path.every((part, i) => column.path[i] === part),
  );
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
    const path = pathOf(reference, isReward, key, columns);
    if (path === null) continue;
    const as = reference.text === layout.loss_mask?.column.text ? 'mask' : 'value';
    const fit = fitOf(reference, as, columnAt(path, columns));
    // What is recorded and no number is not compared, whatever it is.
    if (fit === 'absent' || (fit === 'wrong' && reference.text === layout.recorded?.text)) continue;
    if (fit === 'wrong') throw wrongList(reference, as, columnAt(path, columns)!);
    wanted.set(reference.text, { path, as });
  }
  for (const source of sources) {
    const path = pathOf(source.column, true, source.key, columns);
    if (path === null) continue;
    const reference = referenceOf(source);
    const fit = fitOf(reference, 'value', columnAt(path, columns));
    if (fit === 'wrong') throw wrongList(reference, 'value', columnAt(path, columns)!);
    if (fit === 'fits') wanted.set(reference.text, { path, as: 'value' });
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

const LIST = /(^|<)(large_|fixed_size_)?list(_view)?</g;

/** As many lists as the reference says and, for a mask, one more. */
function fitOf(
  reference: Reference,
  as: VectorRequest['as'],
  column: ColumnInfo | undefined,
): 'fits' | 'absent' | 'wrong' {
  if (!column || column.type === 'null') return 'fits';
  const lists = column.type.match(LIST)?.length ?? 0;
  const isEntry = reference.steps.at(-1) === 0;
  if (isEntry && lists === 0) return 'absent';
  // Whoever reads a mask says best what else is no list of 0 and 1.
  if (as === 'mask') return lists === (isEntry ? 2 : 1) || lists === 0 ? 'fits' : 'wrong';
  return lists === (isEntry ? 1 : 0) ? 'fits' : 'wrong';
}

function wrongList({ text }: Reference, as: VectorRequest['as'], { type }: ColumnInfo): InputError {
  const wanted = as === 'mask' ? 'a list of 0 and 1' : 'a single value';
  return new InputError(
    `column ${text} is ${type}, expected ${wanted}; of lists of one entry each, the entry is ${text}.0 (--map)`,
  );
}

function pathOf(
  reference: Reference,
  isReward: boolean,
  key: string | undefined,
  columns: readonly ColumnInfo[],
): string[] | null {
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
    if (isReward)
      throw new InputError(`${reference.text} is an object, so --reward-key must name one of its keys: ${keys}`);
    throw new InputError(
      `${reference.text} is an object, expected a value: --map can name one of its members (${reference.text}.NAME): ${keys}`,
    );
  }
  if (key === undefined) return below.length > 0 ? path : null;
  if (below.length === 0) return null;
  if (members.some((column) => column.path[path.length] === key)) return [...path, key];
  const keys = listKeys([...new Set(members.map((column) => column.path[path.length]))]);
  throw new InputError(`no row's reward has the key ${JSON.stringify(key)}; keys there are: ${keys}`);
}
