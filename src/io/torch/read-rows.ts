/** Reads the samples of a torch file into chunks of rows. */
import { InputError } from '../../errors.ts';
import { listKeys, mixedKinds } from '../../samples/assembler.ts';
import { MOST_TOKENS, statusFromText } from '../../samples/batch.ts';
import type { Status } from '../../samples/columns.ts';
import { type Id, type IdCoder, NO_ID } from '../../samples/ids.ts';
import { NOT_RECORDED, recordedValue } from '../../samples/recorded.ts';
import { RewardSum } from '../../samples/reward-sum.ts';
import { ChunkBuilder, type ChunkFacts, emptyRow, type KindSeen, type RowChunk } from '../../samples/row-chunk.ts';
import { NO_COUNT, saysTokens, trainableTokens } from '../../samples/tokens.ts';
import { RecordError } from '../jsonl/line-range.ts';
import type { ReadOptions } from '../jsonl/record-reader.ts';
import { cutText } from '../layouts/cut.ts';
import {
  type IdPart,
  type IdSource,
  type Layout,
  mappedColumns,
  numberSources,
  type RewardSource,
  referenceOf,
  referencesOf,
} from '../layouts/layout.ts';
import { numberFromText } from '../layouts/number-text.ts';
import { ENTRY_NUMBER, RECORD_NUMBER, type Reference } from '../layouts/reference.ts';
import type { TorchPortion } from '../portion.ts';
import { openRandomAccess } from '../random-access.ts';
import { newCoders } from '../tasks.ts';
import type { VectorRequest } from '../vectors.ts';
import type { Value } from './extract.ts';
import type { PlainValue } from './plain-values.ts';
import { type PickledSample, readSamples } from './read-samples.ts';

/** @throws RecordError naming sample, field, what was expected and what was found */
export function readTorchRows(portion: TorchPortion, options: ReadOptions, emit: (chunk: RowChunk) => void): void {
  const file = openRandomAccess(portion.path, portion.name);
  try {
    const reader = new SampleReader(options);
    const { metadata } = readSamples(file, reader.requests, (sample, ordinal) => {
      try {
        reader.add(sample, ordinal);
      } catch (error) {
        if (error instanceof InputError) throw new RecordError(ordinal + 1, error.message, { cause: error });
        throw error;
      }
    });
    emit(reader.finish(promptGroupSizes(metadata)));
  } finally {
    file.close();
  }
}

/** Sizes of the prompt groups, where the file states them (miles: multi-LoRA runs). */
function promptGroupSizes(metadata: PlainValue | undefined): readonly number[] | undefined {
  const sizes = metadata instanceof Map ? metadata.get('prompt_group_sizes') : undefined;
  if (sizes === undefined || sizes === null) return undefined;
  if (Array.isArray(sizes) && sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) return sizes;
  throw new InputError('metadata.prompt_group_sizes must be a list of whole numbers');
}

type ReaderField = 'group_index' | 'rollout_id' | 'index' | 'batch' | 'key';
const ABSENT: Value = { kind: 'absent' };

class SampleReader {
  readonly requests: readonly VectorRequest[];
  readonly #layout: Layout;
  readonly #references: readonly Reference[];
  readonly #coders;
  readonly #builder: ChunkBuilder;
  readonly #row = emptyRow();
  readonly #kinds: Record<string, KindSeen> = {};
  readonly #unknownStatuses = new Set<string>();
  readonly #keys = new Set<string>();
  readonly #numberColumns: readonly Reference[];
  readonly #sumColumns: RewardSource['columns'];
  readonly #counts: number[];
  /** Columns that some sample must have and that none had so far, and those that one had. */
  readonly #unmet: string[];
  readonly #met: string[] = [];
  #sample: PickledSample = { values: [], valueAt: () => ABSENT };
  #names: readonly string[] = [];
  #ordinal = 0;
  #tokensKnown = false;
  #missing: ChunkFacts['missingReward'] = null;
  #found = '';
  readonly #sum = new RewardSum();
  #absent = 0;
  #objects = 0;
  #keyed = 0;
  #fromText = 0;

  constructor(options: ReadOptions) {
    this.#layout = options.layout;
    this.#coders = newCoders(options);
    this.#builder = new ChunkBuilder(
      this.#coders,
      options.layout.recorded !== undefined,
      false,
      numberSources(options.layout).length,
    );
    this.#numberColumns = numberSources(options.layout).map(referenceOf);
    this.#sumColumns = options.layout.reward?.isSum && !options.layout.rewardParts ? options.layout.reward.columns : [];
    this.#counts = [...this.#sumColumns, ...this.#numberColumns].map(() => 0);
    const keyed = numberSources(options.layout).filter(({ key }) => key !== undefined);
    const plain = referencesOf(options.layout).filter(({ text }) => !keyed.some(({ column }) => column.text === text));
    const all = [...plain, ...keyed.map(referenceOf)].filter(
      ({ text }) => text !== RECORD_NUMBER && text !== ENTRY_NUMBER,
    );
    this.#references = [...new Map(all.map((reference) => [reference.text, reference])).values()];
    this.requests = this.#references.map((reference) => requestOf(reference, options.layout));
    this.#unmet = mappedColumns(options.layout);
  }

  add(sample: PickledSample, ordinal: number): void {
    this.#sample = sample;
    this.#ordinal = ordinal;
    if (ordinal === 0) this.#names = keysOf(sample.valueAt([])) ?? [];
    if (this.#unmet.length > 0) this.#noteMet();
    const row = this.#row;
    const { groups, rollouts, indexes, batches, keys } = this.#coders;
    row.group = this.#id('group_index', groups);
    row.rollout = this.#id('rollout_id', rollouts);
    const index = this.#id('index', rollouts);
    row.keyedByIndex = row.rollout === NO_ID && index !== NO_ID;
    if (row.rollout === NO_ID) row.rollout = index;
    if (indexes) row.index = this.#id('index', indexes);
    if (batches) row.batch = this.#id('batch', batches);
    if (keys) row.key = this.#id('key', keys);
    this.#readNumbers(row.numbers);
    row.reward = this.#layout.rewardParts ? this.#sumOfParts(row.numbers) : this.#reward();
    if (Number.isNaN(row.reward)) this.#missing ??= { row: ordinal, found: this.#found };
    row.removed = this.#removed();
    row.tokens = this.#tokens(row.removed);
    row.status = this.#status();
    if (this.#layout.recorded) row.recorded = this.#recorded(this.#layout.recorded);
    this.#builder.push(row, ordinal + 1);
  }

  finish(sizes: readonly number[] | undefined): RowChunk {
    const { rowCount } = this.#builder;
    const facts: ChunkFacts = {
      tokensKnown: this.#tokensKnown,
      missingReward: this.#missing,
      unknownStatuses: [...this.#unknownStatuses],
      idKinds: this.#kinds,
      rewardObjects: this.#objects,
      keyedRewards: this.#keyed,
      rewardKeys: [...this.#keys],
      rewardsFromText: this.#fromText,
      rewardsAbsent: this.#absent,
      met: this.#counts,
      columnsMet: this.#met,
      names: this.#names,
      ...(sizes && { promptGroupSizes: sizes }),
    };
    return this.#builder.finish(rowCount, facts, false);
  }

  #value(reference: Reference | undefined): Value {
    const at = reference ? this.#references.findIndex(({ text }) => text === reference.text) : -1;
    return at < 0 ? ABSENT : this.#sample.values[at];
  }

  #noteMet(): void {
    for (let i = this.#unmet.length - 1; i >= 0; i--) {
      const reference = this.#references.find(({ text }) => text === this.#unmet[i])!;
      // Of a reward with a key, the value asked for is the member.
      const found =
        this.#value(reference).kind !== 'absent' || this.#sample.valueAt(namesOf(reference)).kind !== 'absent';
      if (!found) continue;
      this.#met.push(reference.text);
      this.#unmet.splice(i, 1);
    }
  }

  /** Only a number is compared. */
  #recorded(column: Reference): number {
    const value = this.#value(column);
    if (value.kind !== 'number' && value.kind !== 'integer') return NOT_RECORDED;
    return recordedValue(Number(value.value));
  }

  #id(field: ReaderField, coder: IdCoder): number {
    return this.#idOf(field, this.#layout[field], coder);
  }

  #idOf(field: ReaderField, source: IdSource | undefined, coder: IdCoder): number {
    if (!source) return NO_ID;
    const ids: Id[] = [];
    for (const part of source.parts) {
      const id = this.#part(field, part);
      if (id === null) return this.#idOf(field, source.otherwise, coder);
      ids.push(id);
    }
    return ids.length === 1 ? coder.codeOf(ids[0]) : coder.codeOfParts(ids);
  }

  #part(field: ReaderField, { column, cut }: IdPart): Id | null {
    if (column.text === RECORD_NUMBER) return this.#ordinal;
    if (column.text === ENTRY_NUMBER) return 0; // a record here holds one row
    const name = column.text === field ? field : `${field} (${column.text})`;
    const value = this.#value(column);
    if (value.kind === 'absent' || value.kind === 'null') return null;
    let id: Id;
    if (cut && value.kind !== 'text') throw new InputError(`${name} must be a string, found ${describe(value)}`);
    if (value.kind === 'integer') id = value.value;
    else if (value.kind === 'text') id = cut ? cutText(name, value.value, cut) : value.value;
    else if (value.kind === 'number' && Number.isInteger(value.value))
      id = Number.isSafeInteger(value.value) ? value.value : BigInt(value.value);
    else throw new InputError(`${name} must be a whole number or a string, found ${describe(value)}`);
    this.#requireKind(name, id);
    return id;
  }

  #requireKind(name: string, id: Id): void {
    const kind = typeof id === 'string' ? 'a string' : 'a number';
    const found = typeof id === 'string' ? JSON.stringify(id.slice(0, 40)) : String(id);
    const before = this.#kinds[name];
    if (!before) this.#kinds[name] = { kind, row: this.#ordinal, found };
    else if (before.kind !== kind) throw new InputError(mixedKinds(name, kind, found, before.kind));
  }

  #reward(): number {
    const source = this.#layout.reward;
    if (!source) {
      this.#absent++;
      this.#found = 'no reward';
      return Number.NaN;
    }
    if (source.scored) throw new InputError('scores with weights are only read from JSON');
    if (!source.isSum) return this.#oneReward(source.columns[0].column);
    this.#sum.begin();
    for (const [i, { column, weight }] of source.columns.entries()) {
      if (this.#value(column).kind !== 'absent') this.#counts[i]++;
      this.#sum.add(column.text, weight, this.#rewardNumber(column));
    }
    this.#found = this.#sum.found;
    return this.#sum.end();
  }

  #readNumbers(to: number[]): void {
    for (const [k, column] of this.#numberColumns.entries()) {
      if (this.#value(column).kind !== 'absent') this.#counts[this.#sumColumns.length + k]++;
      const value = this.#number(column) ?? Number.NaN;
      to[k] = Number.isFinite(value) ? value : Number.NaN;
    }
  }

  /** NaN where one is missing. */
  #sumOfParts(numbers: readonly number[]): number {
    let sum = 0;
    for (let k = 0; k < this.#layout.rewardParts!.length; k++) {
      if (Number.isNaN(numbers[k]) && !Number.isNaN(sum)) this.#found = this.#foundFor(this.#numberColumns[k]);
      sum += numbers[k];
    }
    return sum;
  }

  #foundFor(column: Reference): string {
    const value = this.#value(column);
    if (value.kind === 'null') return `null for ${column.text}`;
    return value.kind === 'absent' ? `no ${column.text}` : `${column.text} ${describe(value)}`;
  }

  #oneReward(column: Reference): number {
    const value = this.#value(column);
    const { key, fromText } = this.#layout.reward!;
    if (key !== undefined) return this.#keyedReward(value, column, key);
    if (value.kind === 'absent') this.#absent++;
    if (value.kind === 'other' && value.keys) {
      throw new InputError(
        `${column.text} is an object, so --reward-key must name one of its keys: ${listKeys(value.keys)}`,
      );
    }
    if (value.kind === 'text' && fromText) return this.#finite(this.#rewardNumber(column) ?? Number.NaN);
    return this.#finite(this.#number(column) ?? Number.NaN, value);
  }

  /** Where the layout says so, text that spells a number is one. */
  #rewardNumber(column: Reference): number | null {
    const value = this.#value(column);
    if (value.kind !== 'text' || !this.#layout.reward!.fromText) return this.#number(column);
    this.#fromText++;
    return numberFromText(column.text, value.value);
  }

  /** The value asked for is the member of the key; the object itself says what keys there are. */
  #keyedReward(value: Value, column: Reference, key: string): number {
    if (value.kind === 'absent' || value.kind === 'null') return this.#withoutKey(column, key, value.kind);
    this.#objects++;
    this.#keyed++;
    return this.#finite(this.#number(column) ?? Number.NaN, value);
  }

  /** As in JSON: an object that lacks the key, or has null there; no reward at all; or what is no object. */
  #withoutKey(column: Reference, key: string, kind: 'absent' | 'null'): number {
    const reward = this.#sample.valueAt(namesOf(column));
    const keys = keysOf(reward);
    if (reward.kind === 'absent' || reward.kind === 'null') {
      if (reward.kind === 'absent') this.#absent++;
      this.#found = reward.kind === 'null' ? 'null' : `no ${column.text}`;
      return Number.NaN;
    }
    if (keys === null)
      throw new InputError(
        `${column.text} must be an object with the key ${JSON.stringify(key)}, found ${describe(reward)}`,
      );
    this.#objects++;
    if (kind === 'null') this.#keyed++;
    else if (this.#keyed === 0) for (const other of keys.slice(0, KEYS_KEPT - this.#keys.size)) this.#keys.add(other);
    this.#found = kind === 'null' ? 'null' : `no reward[${JSON.stringify(key)}]`;
    return Number.NaN;
  }

  #finite(value: number, found?: Value): number {
    if (Number.isFinite(value)) return value;
    this.#found = found ? describe(found) : String(value);
    return Number.NaN;
  }

  #number(column: Reference): number | null {
    const value = this.#value(column);
    if (value.kind === 'absent' || value.kind === 'null') return null;
    if (value.kind === 'number') return value.value;
    if (value.kind === 'integer' || value.kind === 'boolean') return Number(value.value);
    throw new InputError(`${column.text} must be a number or a boolean, found ${describe(value)}`);
  }

  #removed(): boolean {
    const source = this.#layout.remove_sample;
    const value = this.#value(source?.column);
    if (!source || value.kind === 'absent' || value.kind === 'null') return false;
    if (source.when === 'present') return true;
    if (source.when === 'zero') return this.#number(source.column) === 0;
    if (value.kind !== 'boolean')
      throw new InputError(`${source.column.text} must be true or false, found ${describe(value)}`);
    return value.value === (source.when === 'true');
  }

  #status(): Status {
    const source = this.#layout.status;
    const value = this.#value(source?.column);
    if (!source || value.kind === 'absent' || value.kind === 'null') return 'completed';
    if (source.whenTrue && value.kind === 'boolean') return value.value ? source.whenTrue : 'completed';
    if (!source.whenTrue && value.kind === 'text') return statusFromText(value.value, this.#unknownStatuses);
    throw new InputError(`${source.column.text} must be text, found ${describe(value)}`);
  }

  #tokens(removed: boolean): number {
    const stated = this.#count(this.#layout.trainable_tokens);
    let length = this.#count(this.#layout.response_length);
    const prompt = this.#count(this.#layout.prompt_length);
    if (prompt !== NO_COUNT && length !== NO_COUNT && prompt > length)
      throw new InputError(
        `${this.#layout.prompt_length?.text} is ${prompt}, more than the ${length} of ${this.#layout.response_length?.text}`,
      );
    if (this.#layout.prompt_length && length !== NO_COUNT) length = prompt === NO_COUNT ? NO_COUNT : length - prompt;
    const masked = this.#masked(length);
    this.#tokensKnown ||= saysTokens(stated, masked, length);
    return trainableTokens(removed, stated, masked, length);
  }

  #masked(length: number): number {
    const source = this.#layout.loss_mask;
    const value = this.#value(source?.column);
    if (!source || value.kind === 'absent' || value.kind === 'null') return NO_COUNT;
    const name = source.column.text;
    if (source.counts === 'labels') throw new InputError(`${name}: masks of labels are only read from JSON`);
    if (value.kind !== 'mask') throw new InputError(`${name} must be a list of 0 and 1, found ${describe(value)}`);
    if (value.invalid) {
      throw new InputError(
        `${name}: entry ${value.invalid.entry + 1}: expected 0, 1, true or false, found ${value.invalid.found}`,
      );
    }
    if (length !== NO_COUNT && value.length !== length)
      throw new InputError(
        `${name} has ${value.length} entries but ${this.#layout.response_length?.text} is ${length}`,
      );
    return value.ones;
  }

  #count(column: Reference | undefined): number {
    const value = this.#value(column);
    if (!column || value.kind === 'absent' || value.kind === 'null') return NO_COUNT;
    const count = value.kind === 'boolean' ? Number.NaN : this.#number(column);
    if (count !== null && Number.isInteger(count) && count >= 0 && count <= MOST_TOKENS) return count;
    throw new InputError(`${column.text}: expected a whole number from 0 to ${MOST_TOKENS}, found ${describe(value)}`);
  }
}

/** Keys that a message about a reward's key can list. */
const KEYS_KEPT = 100;

function keysOf(value: Value): readonly string[] | null {
  return value.kind === 'other' ? value.keys : null;
}

/** The steps of a reference that leads through objects alone, as requestOf() has made sure. */
function namesOf({ steps }: Reference): string[] {
  return steps.map(String);
}

function requestOf({ text, steps }: Reference, layout: Layout): VectorRequest {
  const path = steps.map((step) => {
    if (typeof step === 'string' && step !== '[]' && step !== '.*') return step;
    throw new InputError(`${text}: rows and values inside lists are only read from JSON`);
  });
  const isReward = layout.reward?.columns.some(({ column }) => column.text === text) ?? false;
  const key = isReward ? layout.reward?.key : undefined;
  const as = text === layout.loss_mask?.column.text ? 'mask' : 'value';
  return { path: key === undefined ? path : [...path, key], as };
}

function describe(value: Value): string {
  if (value.kind === 'other') return value.typeName;
  if (value.kind === 'text') return JSON.stringify(value.value.slice(0, 40));
  return 'value' in value ? String(value.value) : value.kind;
}
