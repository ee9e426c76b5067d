/** First pass over a JSONL file: the needed fields of every row into columns; text, tokens and masks are left behind. */
import { InputError } from '../../errors.ts';
import { MOST_TOKENS, statusFromText } from '../../samples/batch.ts';
import { packFlags, type SampleColumns, type Status } from '../../samples/columns.ts';
import { growableF64, growableU8, growableU32 } from '../../samples/growable.ts';
import { IdCoder, NO_ID } from '../../samples/ids.ts';
import { NO_COUNT, saysTokens, trainableTokens } from '../../samples/tokens.ts';
import { type OutputFields, ROW_FIELDS, type RowField } from './fields.ts';
import { IdReader } from './id-reader.ts';
import { LastSpan } from './last-span.ts';
import { forEachLine } from './lines.ts';
import { RewardReader } from './reward-reader.ts';
import { compileFields, excerpt, FieldSpans, Kind, ScanError, scanObject } from './scan.ts';
import { countOnes, decodeString, parseInteger } from './values.ts';

export interface ReadOptions {
  /** Key of the reward where it is an object. */
  readonly rewardKey?: string | undefined;
  /** Most bytes of a line. */
  readonly maxLine?: number | undefined;
  readonly outputFields: OutputFields;
}

/**
 * Reads all rows. A line's own bytes are looked at once and not kept.
 * @throws InputError naming line, field, what was expected and what was found
 */
export async function readColumns(chunks: AsyncIterable<Uint8Array>, options: ReadOptions): Promise<SampleColumns> {
  const reader = new RowReader(options);
  const lineOptions = options.maxLine === undefined ? {} : { maxLine: options.maxLine };
  await forEachLine(chunks, lineOptions, (bytes, start, end, line) => {
    try {
      reader.addRow(bytes, start, end, line);
    } catch (error) {
      if (error instanceof ScanError) throw new InputError(`line ${line}: ${reader.parsing}${error.message}`);
      if (error instanceof InputError) throw new InputError(`line ${line}: ${error.message}`);
      throw error;
    }
  });
  return reader.finish();
}

const FIELD = Object.fromEntries(ROW_FIELDS.map((name, i) => [name, i])) as Record<RowField, number>;
const PREFIXES = ROW_FIELDS.map((name) => `${name}: `);
const ADVANTAGE = ROW_FIELDS.length;
const RAW_REWARD = ADVANTAGE + 1;

class RowReader {
  /** The field whose value is being parsed, as a message begins: `reward: `. Empty while the row itself is scanned. */
  parsing = '';
  readonly #options: ReadOptions;
  readonly #fields;
  readonly #spans: FieldSpans;
  readonly #groupIds = new IdCoder();
  readonly #rolloutIds = new IdCoder();
  readonly #groupReader = new IdReader('group_index', this.#groupIds);
  readonly #rolloutReader = new IdReader('rollout_id', this.#rolloutIds);
  readonly #indexReader = new IdReader('index', this.#rolloutIds);
  readonly #rewardReader: RewardReader;
  readonly #groupCodes = growableU32();
  readonly #rolloutCodes = growableU32();
  readonly #rewards = growableF64();
  readonly #tokens = growableU32();
  readonly #flags = growableU8();
  readonly #lines = new LineNumbers();
  readonly #lastStatusSpan = new LastSpan();
  #lastStatus: Status = 'completed';
  readonly #unknownStatuses = new Set<string>();
  #rowCount = 0;
  #hasGroups = false;
  #hasRollouts = false;
  #tokensKnown = false;
  #missingReward: SampleColumns['missingReward'] = null;

  constructor(options: ReadOptions) {
    this.#options = options;
    this.#fields = compileFields([...ROW_FIELDS, options.outputFields.advantage, options.outputFields.rawReward]);
    this.#spans = new FieldSpans(this.#fields);
    this.#rewardReader = new RewardReader(options.rewardKey);
  }

  addRow(bytes: Uint8Array, start: number, end: number, line: number): void {
    this.parsing = '';
    scanObject(bytes, start, end, this.#fields, this.#spans);
    this.#requireFree(ADVANTAGE, '--advantage-field');
    this.#requireFree(RAW_REWARD, '--raw-reward-field');
    const group = this.#id(this.#groupReader, bytes, FIELD.group_index);
    let rollout = this.#id(this.#rolloutReader, bytes, FIELD.rollout_id);
    const keyedByIndex = rollout === NO_ID;
    if (keyedByIndex) rollout = this.#id(this.#indexReader, bytes, FIELD.index);
    else this.#checkIndex(bytes);
    const value = this.#reward(bytes);
    if (Number.isNaN(value)) this.#missingReward ??= { row: this.#rowCount, found: this.#rewardReader.found };
    const removed = this.#boolean(bytes, FIELD.remove_sample);
    const tokens = this.#countTokens(bytes, removed);
    this.#groupCodes.push(group);
    this.#rolloutCodes.push(rollout);
    this.#rewards.push(value);
    this.#tokens.push(tokens);
    this.#flags.push(packFlags(removed, keyedByIndex && rollout !== NO_ID, this.#status(bytes)));
    this.#lines.add(this.#rowCount++, line);
    this.#hasGroups ||= group !== NO_ID;
    this.#hasRollouts ||= rollout !== NO_ID;
  }

  finish(): SampleColumns {
    this.#rewardReader.requireKeyMet();
    return {
      rowCount: this.#rowCount,
      groupCodes: this.#hasGroups ? this.#groupCodes.view() : null,
      rolloutCodes: this.#hasRollouts ? this.#rolloutCodes.view() : null,
      rewards: this.#rewards.view(),
      missingReward: this.#missingReward,
      fixedTokens: this.#tokensKnown ? this.#tokens.view() : null,
      lossMasks: null,
      flags: this.#flags.view(),
      groupIds: this.#groupIds,
      rolloutIds: this.#rolloutIds,
      unknownStatuses: [...this.#unknownStatuses],
      place: (row) => `line ${this.#lines.of(row)}`,
    };
  }

  #id(reader: IdReader, bytes: Uint8Array, field: number): number {
    const { kind, start, end } = this.#spans;
    this.parsing = PREFIXES[field];
    return reader.read(kind[field] as Kind, bytes, start[field], end[field]);
  }

  #checkIndex(bytes: Uint8Array): void {
    const { kind, start, end } = this.#spans;
    this.parsing = PREFIXES[FIELD.index];
    this.#indexReader.check(kind[FIELD.index] as Kind, bytes, start[FIELD.index], end[FIELD.index]);
  }

  #reward(bytes: Uint8Array): number {
    const { kind, start, end } = this.#spans;
    this.parsing = PREFIXES[FIELD.reward];
    return this.#rewardReader.read(kind[FIELD.reward] as Kind, bytes, start[FIELD.reward], end[FIELD.reward]);
  }

  #requireFree(field: number, option: string): void {
    const { advantage, rawReward, overwrite } = this.#options.outputFields;
    if (overwrite || this.#spans.kind[field] === Kind.absent) return;
    const name = field === ADVANTAGE ? advantage : rawReward;
    throw new InputError(
      `field ${JSON.stringify(name)} is there already; add under another name with ${option}, or replace it with --overwrite`,
    );
  }

  #boolean(bytes: Uint8Array, field: number): boolean {
    const kind = this.#spans.kind[field];
    if (kind === Kind.true) return true;
    if (kind === Kind.false || kind === Kind.absent || kind === Kind.null) return false;
    throw new InputError(`${ROW_FIELDS[field]} must be true or false, found ${this.#excerpt(bytes, field)}`);
  }

  #status(bytes: Uint8Array): Status {
    const kind = this.#spans.kind[FIELD.status];
    if (kind === Kind.absent || kind === Kind.null) return 'completed';
    if (kind !== Kind.string) throw new InputError(`status must be text, found ${this.#excerpt(bytes, FIELD.status)}`);
    const start = this.#spans.start[FIELD.status];
    const end = this.#spans.end[FIELD.status];
    if (this.#lastStatusSpan.equals(bytes, start, end)) return this.#lastStatus;
    this.parsing = PREFIXES[FIELD.status];
    this.#lastStatus = statusFromText(decodeString(bytes, start, end), this.#unknownStatuses);
    this.#lastStatusSpan.remember(bytes, start, end);
    return this.#lastStatus;
  }

  /** All token fields that are there are checked, also those that do not count. */
  #countTokens(bytes: Uint8Array, removed: boolean): number {
    const stated = this.#count(bytes, FIELD.trainable_tokens);
    const length = this.#count(bytes, FIELD.response_length);
    const masked = this.#maskedTokens(bytes, length);
    this.#tokensKnown ||= saysTokens(stated, masked, length);
    return trainableTokens(removed, stated, masked, length);
  }

  #count(bytes: Uint8Array, field: number): number {
    const kind = this.#spans.kind[field];
    if (kind === Kind.absent || kind === Kind.null) return NO_COUNT;
    const name = ROW_FIELDS[field];
    if (kind !== Kind.number)
      throw new InputError(`${name} must be a whole number, found ${this.#excerpt(bytes, field)}`);
    this.parsing = PREFIXES[field];
    return parseInteger(bytes, this.#spans.start[field], this.#spans.end[field], MOST_TOKENS);
  }

  #maskedTokens(bytes: Uint8Array, responseLength: number): number {
    const field = FIELD.loss_mask;
    const kind = this.#spans.kind[field];
    if (kind === Kind.absent || kind === Kind.null) return NO_COUNT;
    if (kind !== Kind.array)
      throw new InputError(`loss_mask must be a list of 0 and 1, found ${this.#excerpt(bytes, field)}`);
    this.parsing = PREFIXES[field];
    const { ones, length } = countOnes(bytes, this.#spans.start[field], this.#spans.end[field]);
    if (responseLength !== NO_COUNT && responseLength !== length) {
      throw new InputError(`loss_mask has ${length} entries but response_length is ${responseLength}`);
    }
    return ones;
  }

  #excerpt(bytes: Uint8Array, field: number): string {
    return excerpt(bytes, this.#spans.start[field], this.#spans.end[field]);
  }
}

/** Physical line of each row; only the places where blank lines came between are kept. */
class LineNumbers {
  readonly #rows = growableU32();
  readonly #lines = growableF64();

  add(row: number, line: number): void {
    const last = this.#rows.length - 1;
    if (last >= 0 && this.#lines.get(last) + (row - this.#rows.get(last)) === line) return;
    this.#rows.push(row);
    this.#lines.push(line);
  }

  of(row: number): number {
    let low = 0;
    let high = this.#rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#rows.get(middle) <= row) low = middle;
      else high = middle - 1;
    }
    return this.#lines.get(low) + (row - this.#rows.get(low));
  }
}
