/** Finds the values that a layout refers to in one JSON record, through objects and lists, and for every row in it. */
import { InputError } from '../../errors.ts';
import { ALL, EACH_ROW, type Reference, type Step } from '../layouts/reference.ts';
import { compileFields, EntrySpans, FieldSpans, type Fields, Kind, kindOfValue, scanObject } from './scan.ts';

/** What hangs below a value: the cell of the value itself, members of an object, entries of a list. */
interface Node {
  cell: number;
  readonly members: Map<string, Node>;
  readonly entries: Map<number, Node>;
  each: Node | null;
}

/** A node made ready: members by their number in `fields`. */
interface Compiled {
  /** -1 where the value itself is not asked for. */
  readonly cell: number;
  readonly below: readonly number[];
  readonly hasChildren: boolean;
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
  /** Kind and span of each cell's value; of the row that was selected last. */
  readonly kind: Uint8Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  rowCount = 1;
  readonly #cellOfText = new Map<string, number>();
  readonly #root: Compiled;
  readonly #rowLists: RowList[] = [];
  /** Fields at the top level that something hangs below. */
  readonly #deep: readonly number[];
  /** The first cells are those of the top level, so that a scan fills them in place. */
  readonly #fields: Fields;
  readonly #spans: FieldSpans;

  /** @param reserved names at the top level that are only looked for */
  constructor(references: readonly Reference[], reserved: readonly string[] = []) {
    const root = newNode();
    const nodes = references.map(({ steps }) => {
      const all = steps.indexOf(ALL);
      return descend(root, all < 0 ? steps : steps.slice(0, all));
    });
    for (const name of reserved) descend(root, [name]);
    let cellCount = 0;
    for (const node of root.members.values()) node.cell = cellCount++;
    nodes.forEach((node, i) => {
      if (node.cell < 0) node.cell = cellCount++;
      this.#cellOfText.set(references[i].text, node.cell);
    });
    this.#root = this.#compile(root, '');
    this.#fields = this.#root.fields ?? compileFields([]);
    this.#spans = new FieldSpans(this.#fields, cellCount);
    this.#deep = this.#root.members.flatMap(({ hasChildren }, field) => (hasChildren ? [field] : []));
    this.kind = this.#spans.kind;
    this.start = this.#spans.start;
    this.end = this.#spans.end;
  }

  /** The cell of a reference that was given; of one that goes on after `.*`, that of what stands before. */
  cellOf({ text }: Reference): number {
    return this.#cellOfText.get(text)!;
  }

  /** The cell of a name at the top level. */
  cellOfName(name: string): number {
    return this.#fields.names.indexOf(name);
  }

  /** Scans the record in bytes[start..end); rows of it are then selected one by one. */
  scan(bytes: Uint8Array, start: number, end: number): void {
    for (const rows of this.#rowLists) rows.isThere = false;
    scanObject(bytes, start, end, this.#fields, this.#spans);
    for (let i = 0; i < this.#deep.length; i++) {
      const field = this.#deep[i];
      const member = this.#root.members[field];
      this.#fillBelow(member, bytes, this.kind[field] as Kind, this.start[field], this.end[field]);
    }
    if (this.#rowLists.length > 0) this.#countRows();
  }

  /** As scan(), of a value of any kind, of which nothing is a row. */
  scanValue(bytes: Uint8Array, kind: Kind, start: number, end: number): void {
    if (kind === Kind.object) this.scan(bytes, start, end);
    else this.kind.fill(Kind.absent);
    if (this.#root.list) this.#fillEntries(this.#root, this.#root.list, bytes, kind, start, end);
  }

  /** Makes the cells below the lists of rows those of one row, from 0. */
  selectRow(bytes: Uint8Array, row: number): void {
    for (const { entry, spans, isThere } of this.#rowLists) {
      if (!isThere) continue;
      const start = spans.start[row];
      this.#fill(entry, bytes, kindOfValue(bytes, start, spans.end[row]), start, spans.end[row]);
    }
  }

  #fill(node: Compiled, bytes: Uint8Array, kind: Kind, start: number, end: number): void {
    if (node.cell >= 0) {
      this.kind[node.cell] = kind;
      this.start[node.cell] = start;
      this.end[node.cell] = end;
    }
    if (node.hasChildren) this.#fillBelow(node, bytes, kind, start, end);
  }

  #fillBelow(node: Compiled, bytes: Uint8Array, kind: Kind, start: number, end: number): void {
    const { fields, spans } = node;
    if (fields && spans) {
      if (kind === Kind.object) scanObject(bytes, start, end, fields, spans);
      for (let i = 0; i < node.members.length; i++) {
        const member = node.members[i];
        if (kind === Kind.object) this.#fill(member, bytes, spans.kind[i] as Kind, spans.start[i], spans.end[i]);
        else this.#clear(member);
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
      cell: node.cell,
      below: [...(node.cell < 0 ? [] : [node.cell]), ...children.flatMap(({ below }) => below)],
      hasChildren: children.length > 0,
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
  return { cell: -1, members: new Map(), entries: new Map(), each: null };
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
