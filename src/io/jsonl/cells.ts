/** Finds the values that a layout refers to in one JSON record, through objects and lists, and for every row in it. */
import { InputError } from '../../errors.ts';
import { ALL, EACH_ROW, type Reference, type Step } from '../layouts/reference.ts';
import { compileFields, EntrySpans, FieldSpans, type Fields, Kind, kindOfValue, scanObject } from './scan.ts';

/** What hangs below a value: cells that end here, members of an object, entries of a list. */
interface Node {
  readonly cells: number[];
  readonly members: Map<string, Node>;
  readonly entries: Map<number, Node>;
  each: Node | null;
}

/** A node made ready: members by their number in `fields`. */
interface Compiled {
  readonly cells: readonly number[];
  readonly below: readonly number[];
  readonly fields: Fields | null;
  readonly spans: FieldSpans | null;
  readonly members: readonly Compiled[];
  readonly entries: readonly (readonly [number, Compiled])[];
  readonly list: EntrySpans | null;
  readonly rows: RowList | null;
}

/** A list whose entries are rows. */
interface RowList {
  readonly text: string;
  readonly entry: Compiled;
  readonly spans: EntrySpans;
  isThere: boolean;
}

export class RecordCells {
  /** Kind and span of each reference's value, in the order given; of the row that was selected last. */
  readonly kind: Uint8Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** Steps after `.*`, to be followed from each entry of the value. */
  readonly rest: readonly (readonly Step[])[];
  rowCount = 1;
  readonly #root: Compiled;
  readonly #rowLists: RowList[] = [];
  /** Members of the record itself, for whoever takes some of them out again. */
  readonly topLevel: FieldSpans;

  /** @param reserved names at the top level that are only looked for; cells follow those of the references */
  constructor(references: readonly Reference[], reserved: readonly string[] = []) {
    const rest: Step[][] = [];
    const root = newNode();
    references.forEach(({ steps }, cell) => {
      const all = steps.indexOf(ALL);
      rest.push(all < 0 ? [] : steps.slice(all + 1));
      descend(root, all < 0 ? steps : steps.slice(0, all)).cells.push(cell);
    });
    reserved.forEach((name, i) => {
      descend(root, [name]).cells.push(references.length + i);
    });
    const count = references.length + reserved.length;
    this.kind = new Uint8Array(count);
    this.start = new Int32Array(count);
    this.end = new Int32Array(count);
    this.rest = rest;
    this.#root = this.#compile(root, '');
    this.topLevel = this.#root.spans ?? new FieldSpans(compileFields([]));
  }

  /** Scans the record in bytes[start..end); rows of it are then selected one by one. */
  scan(bytes: Uint8Array, start: number, end: number): void {
    for (const rows of this.#rowLists) rows.isThere = false;
    const { fields, spans, members, below } = this.#root;
    if (!fields || !spans) scanObject(bytes, start, end, this.topLevelFields, this.topLevel);
    else {
      scanObject(bytes, start, end, fields, spans);
      for (let i = 0; i < members.length; i++)
        this.#fill(members[i], bytes, spans.kind[i] as Kind, spans.start[i], spans.end[i]);
    }
    if (below.length > 0 && this.#rowLists.length > 0) this.#countRows();
  }

  /** Makes the cells below the lists of rows those of one row, from 0. */
  selectRow(bytes: Uint8Array, row: number): void {
    for (const { entry, spans, isThere } of this.#rowLists) {
      if (!isThere) continue;
      const start = spans.start[row];
      this.#fill(entry, bytes, kindOfValue(bytes, start, spans.end[row]), start, spans.end[row]);
    }
  }

  readonly topLevelFields = compileFields([]);

  #fill(node: Compiled, bytes: Uint8Array, kind: Kind, start: number, end: number): void {
    for (const cell of node.cells) {
      this.kind[cell] = kind;
      this.start[cell] = start;
      this.end[cell] = end;
    }
    if (node.below.length === node.cells.length) return;
    if (node.fields && node.spans) {
      if (kind === Kind.object) scanObject(bytes, start, end, node.fields, node.spans);
      for (let i = 0; i < node.members.length; i++) {
        const below = node.members[i];
        if (kind === Kind.object)
          this.#fill(below, bytes, node.spans.kind[i] as Kind, node.spans.start[i], node.spans.end[i]);
        else this.#clear(below);
      }
    }
    if (node.list) this.#fillEntries(node, node.list, bytes, kind, start, end);
    if (node.rows) this.#findRows(node.rows, bytes, kind, start, end);
  }

  #fillEntries(node: Compiled, list: EntrySpans, bytes: Uint8Array, kind: Kind, start: number, end: number): void {
    if (kind === Kind.array) list.scan(bytes, start, end);
    for (const [number, below] of node.entries) {
      const isThere = kind === Kind.array && number < list.count;
      if (!isThere) this.#clear(below);
      else {
        const entry = list.start[number];
        this.#fill(below, bytes, kindOfValue(bytes, entry, list.end[number]), entry, list.end[number]);
      }
    }
  }

  #findRows(rows: RowList, bytes: Uint8Array, kind: Kind, start: number, end: number): void {
    this.#clear(rows.entry);
    if (kind === Kind.absent || kind === Kind.null) return;
    if (kind !== Kind.array) throw new InputError(`${rows.text} must be a list, each entry a row`);
    rows.spans.scan(bytes, start, end);
    rows.isThere = true;
  }

  #countRows(): void {
    const found = this.#rowLists.filter(({ isThere }) => isThere);
    if (found.length === 0) {
      const names = this.#rowLists.map(({ text }) => text).join(', ');
      throw new InputError(`expected a list of rows at ${names}, found none`);
    }
    for (const { text, spans } of found) {
      if (spans.count === found[0].spans.count) continue;
      throw new InputError(
        `${found[0].text} has ${found[0].spans.count} entries but ${text} has ${spans.count}: both are lists of the same rows`,
      );
    }
    this.rowCount = found[0].spans.count;
  }

  #clear(node: Compiled): void {
    for (const cell of node.below) this.kind[cell] = Kind.absent;
  }

  #compile(node: Node, path: string): Compiled {
    const names = [...node.members.keys()];
    const members = names.map((name) => this.#compile(node.members.get(name)!, path === '' ? name : `${path}.${name}`));
    const entries = [...node.entries].map(([number, below]) => [number, this.#compile(below, path)] as const);
    const each = node.each ? this.#compile(node.each, path) : null;
    const fields = names.length > 0 ? compileFields(names) : null;
    const rows = each && { text: path, entry: each, spans: new EntrySpans(), isThere: false };
    if (rows) this.#rowLists.push(rows);
    const children = [...members, ...entries.map(([, below]) => below), ...(each ? [each] : [])];
    return {
      cells: node.cells,
      below: [...node.cells, ...children.flatMap(({ below }) => below)],
      fields,
      spans: fields && new FieldSpans(fields),
      members,
      entries,
      list: entries.length > 0 ? new EntrySpans() : null,
      rows,
    };
  }
}

function newNode(): Node {
  return { cells: [], members: new Map(), entries: new Map(), each: null };
}

function descend(root: Node, steps: readonly Step[]): Node {
  let node = root;
  for (const step of steps) {
    let next: Node | undefined | null;
    if (step === EACH_ROW) next = node.each ??= newNode();
    else if (typeof step === 'number') next = node.entries.get(step);
    else next = node.members.get(step);
    if (!next) {
      next = newNode();
      if (typeof step === 'number') node.entries.set(step, next);
      else node.members.set(step, next);
    }
    node = next;
  }
  return node;
}
