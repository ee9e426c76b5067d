/** Reads JSON records into a chunk of rows: the fields that a layout names; text, tokens and masks are left behind. */
import { InputError } from '../../errors.ts';
import { MOST_TOKENS, statusFromText } from '../../samples/batch.ts';
import type { Status } from '../../samples/columns.ts';
import { type IdCoder, NO_ID } from '../../samples/ids.ts';
import { ChunkBuilder, type ChunkCoders, type ChunkFacts, emptyRow, type RowChunk } from '../../samples/row-chunk.ts';
import { NO_COUNT, saysTokens, trainableTokens } from '../../samples/tokens.ts';
import type { OutputFields } from '../layouts/fields.ts';
import { type Layout, referencesOf } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER, type Reference } from '../layouts/reference.ts';
import { recordsHoldRows } from '../layouts/resolve-layout.ts';
import { RecordCells } from './cells.ts';
import { IdReader } from './id-reader.ts';
import { LastSpan } from './last-span.ts';
import { MaskReader } from './mask-reader.ts';
import { memberNames } from './member-names.ts';
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

export class RecordReader {
  /** The field whose value is being parsed, as a message begins: `reward: `. Empty while the row itself is scanned. */
  parsing = '';
  readonly #options: ReadOptions;
  readonly #layout: Layout;
  readonly #cells: RecordCells;
  readonly #recordsHoldRows: boolean;
  readonly #builder: ChunkBuilder;
  readonly #row = emptyRow();
  readonly #numbers = { record: 0, entry: 0 };
  readonly #group: IdReader | null;
  readonly #rollout: IdReader | null;
  readonly #index: IdReader | null;
  readonly #batch: IdReader | null;
  readonly #key: IdReader | null;
  readonly #reward: RewardReader | null;
  readonly #mask: MaskReader | null;
  readonly #cell: Readonly<Record<'length' | 'prompt' | 'stated' | 'removed' | 'status' | 'recorded', number>>;
  readonly #reservedCell: number;
  readonly #lastStatusSpan = new LastSpan();
  #lastStatus: Status = 'completed';
  readonly #unknownStatuses = new Set<string>();
  #tokensKnown = false;
  #missingReward: ChunkFacts['missingReward'] = null;
  #names: string[] | null = null;

  constructor(options: ReadOptions, coders: ChunkCoders) {
    this.#options = options;
    const { layout, outputFields } = options;
    this.#layout = layout;
    const references = distinct(referencesOf(layout));
    const cellOf = (reference: Reference) => references.findIndex(({ text }) => text === reference.text);
    const optionalCell = (reference: Reference | undefined) => (reference ? cellOf(reference) : -1);
    this.#reservedCell = references.length;
    this.#cells = new RecordCells(references, outputFields ? [outputFields.advantage, outputFields.rawReward] : []);
    this.#recordsHoldRows = recordsHoldRows(layout);
    this.#builder = new ChunkBuilder(coders, layout.recorded !== undefined, this.#recordsHoldRows);
    const ids = (field: 'group_index' | 'rollout_id' | 'index' | 'batch' | 'key', coder: IdCoder | null) => {
      const source = layout[field];
      return source && coder ? new IdReader(field, source, coder, cellOf) : null;
    };
    this.#group = ids('group_index', coders.groups);
    this.#rollout = ids('rollout_id', coders.rollouts);
    this.#index = ids('index', coders.rollouts);
    this.#keptIndex = ids('index', coders.indexes);
    this.#batch = ids('batch', coders.batches);
    this.#key = ids('key', coders.keys);
    this.#reward = layout.reward ? new RewardReader(layout.reward, cellOf) : null;
    this.#mask = layout.loss_mask ? new MaskReader(layout.loss_mask, cellOf(layout.loss_mask.column)) : null;
    this.#cell = {
      length: optionalCell(layout.response_length),
      prompt: optionalCell(layout.prompt_length),
      stated: optionalCell(layout.trainable_tokens),
      removed: optionalCell(layout.remove_sample?.column),
      status: optionalCell(layout.status?.column),
      recorded: optionalCell(layout.recorded),
    };
  }

  readonly #keptIndex: IdReader | null;

  get rowCount(): number {
    return this.#builder.rowCount;
  }

  /** @param record its number in the chunk, from 1 @param recordsBefore those of the file before the chunk */
  add(bytes: Uint8Array, start: number, end: number, record: number, recordsBefore: number): void {
    this.parsing = '';
    this.#cells.scan(bytes, start, end);
    this.#names ??= memberNames(bytes, start, end);
    this.#requireFree();
    this.#numbers.record = recordsBefore + record - 1;
    if (!this.#recordsHoldRows) {
      this.#addRow(bytes, record);
      return;
    }
    const { rowCount } = this.#cells;
    for (let entry = 0; entry < rowCount; entry++) {
      this.#numbers.entry = entry;
      this.#cells.selectRow(bytes, entry);
      this.#addRow(bytes, record);
    }
  }

  finish(recordCount: number, shared: boolean): RowChunk {
    const reward = this.#reward;
    const kinds = [this.#group, this.#rollout, this.#index, this.#batch, this.#key].map((reader) => reader?.kindsSeen);
    return this.#builder.finish(
      recordCount,
      {
        tokensKnown: this.#tokensKnown,
        missingReward: this.#missingReward,
        unknownStatuses: [...this.#unknownStatuses],
        idKinds: Object.assign({}, ...kinds),
        rewardObjects: reward?.objects ?? 0,
        keyedRewards: reward?.keyed ?? 0,
        rewardKeys: [...(reward?.otherKeys ?? [])],
        rewardsFromText: reward?.fromText ?? 0,
        rewardsAbsent: reward ? reward.absent : this.rowCount,
        names: this.#names ?? [],
      },
      shared,
    );
  }

  #addRow(bytes: Uint8Array, record: number): void {
    const cells = this.#cells;
    const row = this.#row;
    const at = this.#builder.rowCount;
    row.group = this.#id('group_index', this.#group, bytes, at);
    row.rollout = this.#id('rollout_id', this.#rollout, bytes, at);
    const index = this.#id('index', this.#index, bytes, at);
    row.keyedByIndex = row.rollout === NO_ID && index !== NO_ID;
    if (row.rollout === NO_ID) row.rollout = index;
    if (this.#keptIndex) row.index = this.#id('index', this.#keptIndex, bytes, at);
    if (this.#batch) row.batch = this.#id('batch', this.#batch, bytes, at);
    if (this.#key) row.key = this.#id('key', this.#key, bytes, at);
    this.parsing = 'reward: ';
    row.reward = this.#reward ? this.#reward.read(cells, bytes) : Number.NaN;
    if (Number.isNaN(row.reward)) this.#missingReward ??= { row: at, found: this.#reward?.found ?? 'no reward' };
    row.removed = this.#removed(bytes);
    row.tokens = this.#countTokens(bytes, row.removed);
    row.status = this.#status(bytes);
    if (this.#cell.recorded >= 0) row.recorded = this.#recorded(bytes);
    this.parsing = '';
    this.#builder.push(row, record);
  }

  #id(field: string, reader: IdReader | null, bytes: Uint8Array, at: number): number {
    if (!reader) return NO_ID;
    this.parsing = `${field}: `;
    return reader.read(this.#cells, bytes, this.#numbers, at);
  }

  #requireFree(): void {
    const { outputFields } = this.#options;
    if (!outputFields || outputFields.overwrite) return;
    for (const [i, name, option] of [
      [0, outputFields.advantage, '--advantage-field'],
      [1, outputFields.rawReward, '--raw-reward-field'],
    ] as const) {
      if (this.#cells.kind[this.#reservedCell + i] === Kind.absent) continue;
      throw new InputError(
        `field ${JSON.stringify(name)} is there already; add under another name with ${option}, or replace it with --overwrite`,
      );
    }
  }

  #removed(bytes: Uint8Array): boolean {
    const source = this.#layout.remove_sample;
    if (!source) return false;
    const cell = this.#cell.removed;
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
    const cell = this.#cell.status;
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
    const stated = this.#count(bytes, this.#layout.trainable_tokens, this.#cell.stated);
    const length = this.#responseLength(bytes);
    this.parsing = 'loss_mask: ';
    const mask = this.#mask?.read(this.#cells, bytes) ?? null;
    if (mask && length !== NO_COUNT && mask.length !== length && this.#layout.loss_mask?.counts === 'ones') {
      const names = [this.#layout.loss_mask.column.text, this.#layout.response_length?.text];
      throw new InputError(`${names[0]} has ${mask.length} entries but ${names[1]} is ${length}`);
    }
    const masked = mask ? mask.trained : NO_COUNT;
    this.#tokensKnown ||= saysTokens(stated, masked, length);
    return trainableTokens(removed, stated, masked, length);
  }

  #responseLength(bytes: Uint8Array): number {
    const length = this.#count(bytes, this.#layout.response_length, this.#cell.length);
    if (this.#cell.prompt < 0 || length === NO_COUNT) return length;
    const prompt = this.#count(bytes, this.#layout.prompt_length, this.#cell.prompt);
    if (prompt === NO_COUNT) return NO_COUNT;
    if (prompt <= length) return length - prompt;
    throw new InputError(
      `${this.#layout.prompt_length?.text} is ${prompt}, more than the ${length} of ${this.#layout.response_length?.text}`,
    );
  }

  #count(bytes: Uint8Array, reference: Reference | undefined, cell: number): number {
    if (!reference) return NO_COUNT;
    const kind = this.#cells.kind[cell];
    if (kind === Kind.absent || kind === Kind.null) return NO_COUNT;
    if (kind !== Kind.number)
      throw new InputError(`${reference.text} must be a whole number, found ${this.#excerpt(bytes, cell)}`);
    this.parsing = `${reference.text}: `;
    return parseInteger(bytes, this.#cells.start[cell], this.#cells.end[cell], MOST_TOKENS);
  }

  #recorded(bytes: Uint8Array): number {
    const kind = this.#cells.kind[this.#cell.recorded];
    if (kind !== Kind.number) return Number.NaN;
    return parseNumber(bytes, this.#cells.start[this.#cell.recorded], this.#cells.end[this.#cell.recorded]);
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

function distinct(references: readonly Reference[]): Reference[] {
  const real = references.filter(({ text }) => text !== RECORD_NUMBER && text !== ENTRY_NUMBER);
  return [...new Map(real.map((reference) => [reference.text, reference])).values()];
}
