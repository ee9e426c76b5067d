/** Reads JSON records into a chunk of rows: the fields that a layout names; text, tokens and masks are left behind. */
import { InputError } from '../../errors.ts';
import { MOST_TOKENS, statusFromText } from '../../samples/batch.ts';
import type { Status } from '../../samples/columns.ts';
import { type IdCoder, NO_ID } from '../../samples/ids.ts';
import { NOT_RECORDED, recordedValue } from '../../samples/recorded.ts';
import { ChunkBuilder, type ChunkCoders, type ChunkFacts, emptyRow, type RowChunk } from '../../samples/row-chunk.ts';
import { NO_COUNT, saysTokens, trainableTokens } from '../../samples/tokens.ts';
import { addedNames, type OutputFields } from '../layouts/fields.ts';
import { type IdField, type Layout, mappedColumns, numberSources, referencesOf } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER, type Reference } from '../layouts/reference.ts';
import { recordsHoldRows } from '../layouts/resolve-layout.ts';
import { RecordCells } from './cells.ts';
import { IdReader } from './id-reader.ts';
import { LastSpan } from './last-span.ts';
import { MaskReader } from './mask-reader.ts';
import { memberNames } from './member-names.ts';
import { NumbersReader } from './numbers-reader.ts';
import { RewardReader } from './reward-reader.ts';
import { excerpt, Kind } from './scan.ts';
import { decodeString, parseInteger, parseNumber } from './values.ts';

/** What a reader of rows is told, whatever the format; plain data. */
export interface ReadOptions {
  readonly layout: Layout;
  /** Names that the output will add to whole rows, and that must therefore be free; null: it adds none. */
  readonly outputFields: OutputFields | null;
  /** Keep index beside rollout_id. */
  readonly keepIndexes: boolean;
}

/** A column of whole numbers. */
interface Count {
  readonly name: string;
  readonly prefix: string;
  readonly cell: number;
}

export class RecordReader {
  /** The field whose value is being parsed, as a message begins: `reward: `. Empty while the row itself is scanned. */
  parsing = '';
  readonly #layout: Layout;
  readonly #cells: RecordCells;
  readonly #recordsHoldRows: boolean;
  readonly #builder: ChunkBuilder;
  readonly #row = emptyRow();
  readonly #ordinals = { record: 0, entry: 0 };
  readonly #group: IdReader | null;
  readonly #rollout: IdReader | null;
  readonly #index: IdReader | null;
  readonly #batch: IdReader | null;
  readonly #key: IdReader | null;
  readonly #reward: RewardReader | null;
  readonly #numbers: NumbersReader | null;
  readonly #mask: MaskReader | null;
  readonly #keptIndex: IdReader | null;
  readonly #length: Count | null;
  readonly #prompt: Count | null;
  readonly #stated: Count | null;
  readonly #removedCell: number;
  readonly #statusCell: number;
  readonly #recordedCell: number;
  /** Names that the output adds and that must be free, with their cells. */
  readonly #reserved: readonly { readonly name: string; readonly remedy: string; readonly cell: number }[];
  readonly #lastStatusSpan = new LastSpan();
  #lastStatus: Status = 'completed';
  readonly #unknownStatuses = new Set<string>();
  #tokensKnown = false;
  #missingReward: ChunkFacts['missingReward'] = null;
  #names: string[] | null = null;
  /** Columns that some row must have and that none had so far, and those that one had. */
  readonly #unmet: { readonly text: string; readonly cell: number }[];
  readonly #met: string[] = [];

  constructor(options: ReadOptions, coders: ChunkCoders) {
    const { layout, outputFields } = options;
    this.#layout = layout;
    const reserved = outputFields && !outputFields.overwrite ? addedNames(outputFields) : [];
    const cells = new RecordCells(
      referencesOf(layout).filter(isInRecord),
      reserved.map(({ name }) => name),
    );
    this.#cells = cells;
    this.#reserved = reserved.map((field) => ({ ...field, cell: cells.cellOfName(field.name) }));
    this.#recordsHoldRows = recordsHoldRows(layout);
    this.#builder = new ChunkBuilder(
      coders,
      layout.recorded !== undefined,
      this.#recordsHoldRows,
      numberSources(layout).length,
    );
    const ids = (field: IdField, coder: IdCoder | null) => {
      const source = layout[field];
      return source && coder ? new IdReader(field, source, coder, cells) : null;
    };
    this.#group = ids('group_index', coders.groups);
    this.#rollout = ids('rollout_id', coders.rollouts);
    this.#index = ids('index', coders.rollouts);
    this.#keptIndex = ids('index', coders.indexes);
    this.#batch = ids('batch', coders.batches);
    this.#key = ids('key', coders.keys);
    this.#reward = layout.reward && !layout.rewardParts ? new RewardReader(layout.reward, cells) : null;
    this.#numbers = numberSources(layout).length > 0 ? new NumbersReader(layout, cells) : null;
    this.#mask = layout.loss_mask ? new MaskReader(layout.loss_mask, cells.cellOf(layout.loss_mask.column)) : null;
    const optionalCell = (reference: Reference | undefined) => (reference ? cells.cellOf(reference) : -1);
    const count = (reference: Reference | undefined) =>
      reference ? { name: reference.text, prefix: `${reference.text}: `, cell: cells.cellOf(reference) } : null;
    this.#length = count(layout.response_length);
    this.#prompt = count(layout.prompt_length);
    this.#stated = count(layout.trainable_tokens);
    this.#removedCell = optionalCell(layout.remove_sample?.column);
    this.#statusCell = optionalCell(layout.status?.column);
    this.#recordedCell = optionalCell(layout.recorded);
    this.#unmet = mappedColumns(layout).map((text) => ({ text, cell: cells.cellOf({ text, steps: [] }) }));
  }

  get rowCount(): number {
    return this.#builder.rowCount;
  }

  /** @param record its number in the chunk, from 1 @param recordsBefore those of the file before the chunk */
  add(bytes: Uint8Array, start: number, end: number, record: number, recordsBefore: number): void {
    this.parsing = '';
    this.#cells.scan(bytes, start, end);
    this.#names ??= memberNames(bytes, start, end);
    if (this.#reserved.length > 0) this.#requireFree();
    this.#ordinals.record = recordsBefore + record - 1;
    if (!this.#recordsHoldRows) {
      this.#addRow(bytes, record);
      return;
    }
    const { rowCount } = this.#cells;
    for (let entry = 0; entry < rowCount; entry++) {
      this.#ordinals.entry = entry;
      this.#cells.selectRow(bytes, entry);
      this.#addRow(bytes, record);
    }
  }

  finish(recordCount: number, shared: boolean): RowChunk {
    const reward = this.#reward;
    const numbers = this.#numbers;
    numbers?.finish(this.rowCount);
    const readers = [this.#group, this.#rollout, this.#index, this.#keptIndex, this.#batch, this.#key];
    const kinds = readers.map((reader) => reader?.kindsSeen);
    return this.#builder.finish(
      recordCount,
      {
        tokensKnown: this.#tokensKnown,
        missingReward: this.#missingReward,
        unknownStatuses: [...this.#unknownStatuses],
        idKinds: Object.assign({}, ...kinds),
        rewardObjects: reward?.objects ?? 0,
        keyedRewards: reward?.keyed ?? 0,
        rewardKeys: [...(reward?.otherKeys ?? []), ...(numbers?.otherKeys ?? [])],
        rewardsFromText: reward?.fromText ?? 0,
        rewardsAbsent: reward ? reward.absent : this.#layout.rewardParts ? 0 : this.rowCount,
        met: [...(reward && this.#layout.reward?.isSum ? reward.met : []), ...(numbers?.met ?? [])],
        columnsMet: this.#met,
        names: this.#names ?? [],
      },
      shared,
    );
  }

  #addRow(bytes: Uint8Array, record: number): void {
    const cells = this.#cells;
    const row = this.#row;
    const at = this.#builder.rowCount;
    row.group = this.#group ? this.#id(this.#group, bytes, at) : NO_ID;
    row.rollout = this.#rollout ? this.#id(this.#rollout, bytes, at) : NO_ID;
    row.keyedByIndex = false;
    if (this.#index) {
      if (row.rollout === NO_ID) {
        row.rollout = this.#id(this.#index, bytes, at);
        row.keyedByIndex = row.rollout !== NO_ID;
      } else {
        this.parsing = this.#index.prefix;
        this.#index.check(bytes, at);
      }
    }
    if (this.#keptIndex) row.index = this.#id(this.#keptIndex, bytes, at);
    if (this.#batch) row.batch = this.#id(this.#batch, bytes, at);
    if (this.#key) row.key = this.#id(this.#key, bytes, at);
    this.parsing = 'reward: ';
    row.reward = this.#reward ? this.#reward.read(cells, bytes) : Number.NaN;
    if (this.#numbers) {
      const sum = this.#numbers.read(cells, bytes, row.numbers);
      if (!this.#reward) row.reward = sum;
    }
    if (Number.isNaN(row.reward)) this.#missingReward ??= { row: at, found: this.#foundReward() };
    row.removed = this.#removed(bytes);
    row.tokens = this.#countTokens(bytes, row.removed);
    row.status = this.#status(bytes);
    if (this.#recordedCell >= 0) row.recorded = this.#recorded(bytes);
    if (this.#unmet.length > 0) this.#noteMet();
    this.parsing = '';
    this.#builder.push(row, record);
  }

  #foundReward(): string {
    if (this.#reward) return this.#reward.found;
    return this.#layout.rewardParts ? (this.#numbers?.found ?? '') : 'no reward';
  }

  #noteMet(): void {
    for (let i = this.#unmet.length - 1; i >= 0; i--) {
      const { text, cell } = this.#unmet[i];
      const isMask = text === this.#layout.loss_mask?.column.text;
      if (isMask ? !this.#mask!.isMet : this.#cells.kind[cell] === Kind.absent) continue;
      this.#met.push(text);
      this.#unmet.splice(i, 1);
    }
  }

  #id(reader: IdReader, bytes: Uint8Array, at: number): number {
    this.parsing = reader.prefix;
    return reader.read(bytes, this.#ordinals, at);
  }

  #requireFree(): void {
    const { kind } = this.#cells;
    for (let i = 0; i < this.#reserved.length; i++) {
      const { name, remedy, cell } = this.#reserved[i];
      if (kind[cell] === Kind.absent) continue;
      throw new InputError(`field ${JSON.stringify(name)} is there already; ${remedy}, or replace it with --overwrite`);
    }
  }

  #removed(bytes: Uint8Array): boolean {
    const source = this.#layout.remove_sample;
    if (!source) return false;
    const cell = this.#removedCell;
    const kind = this.#cells.kind[cell] as Kind;
    if (kind === Kind.absent || kind === Kind.null) return false;
    if (source.when === 'present') return true;
    if (source.when === 'zero') return this.#number('remove_sample', bytes, cell) === 0;
    if (kind === Kind.true) return source.when === 'true';
    if (kind === Kind.false) return source.when === 'false';
    throw new InputError(`${source.column.text} must be true or false, found ${this.#excerpt(bytes, cell)}`);
  }

  #status(bytes: Uint8Array): Status {
    const source = this.#layout.status;
    if (!source) return 'completed';
    const cell = this.#statusCell;
    const kind = this.#cells.kind[cell];
    if (kind === Kind.absent || kind === Kind.null) return 'completed';
    if (source.whenTrue) {
      if (kind === Kind.true) return source.whenTrue;
      if (kind === Kind.false) return 'completed';
      throw new InputError(`${source.column.text} must be true or false, found ${this.#excerpt(bytes, cell)}`);
    }
    if (kind !== Kind.string)
      throw new InputError(`${source.column.text} must be text, found ${this.#excerpt(bytes, cell)}`);
    const start = this.#cells.start[cell];
    const end = this.#cells.end[cell];
    if (this.#lastStatusSpan.equals(bytes, start, end)) return this.#lastStatus;
    this.parsing = 'status: ';
    this.#lastStatus = statusFromText(decodeString(bytes, start, end), this.#unknownStatuses);
    this.#lastStatusSpan.remember(bytes, start, end);
    return this.#lastStatus;
  }

  /** All token fields that are there are checked, also those that do not count. */
  #countTokens(bytes: Uint8Array, removed: boolean): number {
    const stated = this.#stated ? this.#count(bytes, this.#stated) : NO_COUNT;
    const length = this.#responseLength(bytes);
    this.parsing = 'loss_mask: ';
    const mask = this.#mask ? this.#mask.read(this.#cells, bytes) : null;
    if (mask && length !== NO_COUNT && mask.length !== length && this.#layout.loss_mask?.counts === 'ones') {
      const names = [this.#layout.loss_mask.column.text, this.#layout.response_length?.text];
      throw new InputError(`${names[0]} has ${mask.length} entries but ${names[1]} is ${length}`);
    }
    const masked = mask ? mask.trained : NO_COUNT;
    this.#tokensKnown ||= saysTokens(stated, masked, length);
    return trainableTokens(removed, stated, masked, length);
  }

  #responseLength(bytes: Uint8Array): number {
    const length = this.#length ? this.#count(bytes, this.#length) : NO_COUNT;
    if (!this.#prompt || length === NO_COUNT) return length;
    const prompt = this.#count(bytes, this.#prompt);
    if (prompt === NO_COUNT) return NO_COUNT;
    if (prompt <= length) return length - prompt;
    throw new InputError(`${this.#prompt.name} is ${prompt}, more than the ${length} of ${this.#length?.name}`);
  }

  #count(bytes: Uint8Array, { name, prefix, cell }: Count): number {
    const kind = this.#cells.kind[cell];
    if (kind === Kind.absent || kind === Kind.null) return NO_COUNT;
    if (kind !== Kind.number)
      throw new InputError(`${name} must be a whole number, found ${this.#excerpt(bytes, cell)}`);
    this.parsing = prefix;
    return parseInteger(bytes, this.#cells.start[cell], this.#cells.end[cell], MOST_TOKENS);
  }

  #recorded(bytes: Uint8Array): number {
    const cell = this.#recordedCell;
    if (this.#cells.kind[cell] !== Kind.number) return NOT_RECORDED;
    return recordedValue(parseNumber(bytes, this.#cells.start[cell], this.#cells.end[cell]));
  }

  #number(field: string, bytes: Uint8Array, cell: number): number {
    const kind = this.#cells.kind[cell];
    if (kind === Kind.true || kind === Kind.false) return kind === Kind.true ? 1 : 0;
    if (kind !== Kind.number) throw new InputError(`${field} must be a number, found ${this.#excerpt(bytes, cell)}`);
    this.parsing = `${field}: `;
    return parseNumber(bytes, this.#cells.start[cell], this.#cells.end[cell]);
  }

  #excerpt(bytes: Uint8Array, cell: number): string {
    return excerpt(bytes, this.#cells.start[cell], this.#cells.end[cell]);
  }
}

function isInRecord({ text }: Reference): boolean {
  return text !== RECORD_NUMBER && text !== ENTRY_NUMBER;
}
