/** Columns by the path of their names, and the fields that lead to them. */
import { InputError } from '../../errors.ts';
import type { ColumnInfo, VectorRequest } from '../vectors.ts';
import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';
import { isList, listTypeName, typeName } from './types.ts';

/** The leaves of a schema. The fields of structs inside lists are leaves too, each a list. */
export function columnsOf(fields: readonly ArrowField[]): ColumnInfo[] {
  const columns: ColumnInfo[] = [];
  const add = (field: ArrowField, parents: readonly string[], wrap: (type: string) => string, inList: boolean) => {
    const path = [...parents, field.name];
    let inner = field;
    let wrapInner = wrap;
    while (isList(inner)) {
      const list = inner;
      const outer = wrapInner;
      wrapInner = (type) => outer(listTypeName(list, type));
      inner = inner.children[0];
    }
    if (inner.typeId === TypeId.struct && inner.dictionary === null) {
      for (const child of inner.children) add(child, path, wrapInner, inList || inner !== field);
    } else {
      const isInList = inList || inner !== field;
      columns.push({ path, type: wrapInner(typeName(inner)), isList: isInList });
    }
  };
  for (const field of fields) add(field, [], (type) => type, false);
  return columns;
}

/**
 * The fields from the root to what a request asks for, lists' entries included: to the entry's type for a value, to the
 * innermost list for a mask.
 */
export function resolvePath(fields: readonly ArrowField[], { path, as }: VectorRequest): ArrowField[] {
  const name = columnName(path);
  const chain: ArrowField[] = [];
  let candidates = fields;
  for (const part of path) {
    const matching = candidates.filter((candidate) => candidate.name === part);
    if (matching.length === 0) throw new InputError(`there is no column ${name}: found ${listNames(fields)}`);
    if (matching.length > 1) throw new InputError(`there are ${matching.length} columns ${name}, expected one`);
    let field = matching[0];
    chain.push(field);
    while (isList(field)) {
      field = field.children[0];
      chain.push(field);
    }
    candidates = isStruct(field) ? field.children : [];
  }
  const leaf = chain[chain.length - 1];
  // A column of nulls alone is written with a type that says no more.
  if (leaf.typeId === TypeId.null && chain.length === path.length) return chain;
  if (as === 'mask') {
    if (chain.length < 2 || !isList(chain[chain.length - 2]))
      throw new InputError(`column ${name} is ${typeName(leaf)}, expected a list of 0 and 1`);
    chain.pop();
  } else if (isStruct(leaf)) throw new InputError(`column ${name} is ${typeName(leaf)}, expected a value`);
  return chain;
}

export function columnName(path: readonly string[]): string {
  return JSON.stringify(path.join('.'));
}

const NAMES_SHOWN = 20;

function isStruct(field: ArrowField): boolean {
  return field.typeId === TypeId.struct && field.dictionary === null;
}

function listNames(fields: readonly ArrowField[]): string {
  const names = columnsOf(fields).map(({ path }) => columnName(path));
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  return names.length > NAMES_SHOWN ? `${shown} and ${names.length - NAMES_SHOWN} more` : shown || 'no columns';
}
