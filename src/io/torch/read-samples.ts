/** Reads the samples of a torch file of rollouts, one by one. Nothing that the file names is ever loaded or run. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { VectorRequest } from '../vectors.ts';
import { ArrayReader } from './arrays.ts';
import { findAskedIndexes } from './asked-indexes.ts';
import type { ByteWindow } from './byte-window.ts';
import { lookUp, textPairs } from './containers.ts';
import { Extractor, type Value } from './extract.ts';
import { Machine } from './machine.ts';
import { ForgottenValue, Memo } from './memo.ts';
import { PlainReader, type PlainValue } from './plain-values.ts';
import { WrongGuess } from './sample-stream.ts';
import { openTorchArchive, type TorchArchive } from './torch-archive.ts';
import { DictValue, ListValue, type PickleValue, typeNameOf } from './values.ts';

export interface PickledSample {
  /** By request. */
  readonly values: readonly Value[];
  /** Whatever stands at a path of names, the sample itself for an empty one; only to be asked while it is visited. */
  valueAt(path: readonly string[]): Value;
}

export interface SampleFile {
  readonly sampleCount: number;
  /** Whether samples lay in lists inside the list of samples; they are counted through, in order. */
  readonly isNested: boolean;
  /** What stands beside the samples; undefined where the file has no such key. */
  readonly rolloutId: PlainValue | undefined;
  readonly metadata: PlainValue | undefined;
}

/**
 * Calls `visit` for each sample in order, counted from 0. The file is a dict whose `samples` is a list, or a list itself.
 * Samples are visited before the file has been read to its end, so a fault may show only after some of them.
 * @throws InputError where the file is not as it should be, FileError where it cannot be read
 */
export function readSamples(
  file: RandomAccessFile,
  wanted: readonly VectorRequest[],
  visit: (sample: PickledSample, ordinal: number) => void,
): SampleFile {
  const archive = openTorchArchive(file);
  const reading = new Reading(archive, wanted, visit);
  let asked: ReadonlySet<number> | null = null;
  let isPatient = false;
  for (;;) {
    try {
      return reading.run(asked, isPatient);
    } catch (error) {
      if (error instanceof ForgottenValue) asked = findAskedIndexes(archive.openPickle());
      else if (error instanceof WrongGuess) isPatient = true;
      else throw error;
    }
  }
}

class Reading {
  readonly #archive: TorchArchive;
  readonly #wanted: readonly VectorRequest[];
  readonly #visit: (sample: PickledSample, ordinal: number) => void;
  #visited = 0;

  constructor(
    archive: TorchArchive,
    wanted: readonly VectorRequest[],
    visit: (sample: PickledSample, ordinal: number) => void,
  ) {
    this.#archive = archive;
    this.#wanted = wanted;
    this.#visit = visit;
  }

  /** Visits what an earlier run has not visited. @param asked the memo indexes that the pickle asks for, if known */
  run(asked: ReadonlySet<number> | null, isPatient: boolean): SampleFile {
    const window = this.#archive.openPickle();
    window.require(2);
    if (window.bytes[0] !== 0x80) throw window.error('expected a pickle of protocol 2 to 5', 0);
    const extractor = new Extractor(this.#wanted, window, new ArrayReader(window, this.#archive));
    let ordinal = 0;
    const deliver = (sample: PickleValue) => {
      if (ordinal >= window.byteLength) throw new InputError('has more samples than bytes: a list of them is shared');
      ordinal++;
      // Also of samples visited before, so that they may not change.
      const values = extractor.extract(sample);
      if (!values) throw new InputError(`sample ${ordinal} must be a dict, found ${typeNameOf(sample)}`);
      if (ordinal > this.#visited)
        this.#visit({ values, valueAt: (path) => extractor.valueAt(sample, path) }, this.#visited++);
    };
    const machine = new Machine(window, new Memo(asked), deliver, isPatient);
    const root = machine.run();
    handOutRest(machine, root);
    machine.samples.requireComplete();
    if (ordinal < this.#visited) throw new InputError('takes samples back that it has listed');
    const plain = new PlainReader(window, extractor);
    const beside = (key: string) => {
      const value = root instanceof DictValue ? lookUp(window, root, key) : undefined;
      return value === undefined ? undefined : plain.read(value);
    };
    const { isNested } = machine.samples;
    return { sampleCount: ordinal, isNested, rolloutId: beside('rollout_id'), metadata: beside('metadata') };
  }
}

/** Finds the samples and hands them out, where that has not happened while they were read. */
function handOutRest({ samples, window }: Machine, root: PickleValue): void {
  const list = root instanceof DictValue ? lookUp(window, root, 'samples') : root;
  if (!(list instanceof ListValue))
    throw new InputError(
      `expected a dict with a list of samples, or such a list, found ${describeRoot(window, root, list)}`,
    );
  if (samples.root !== null && list !== samples.root) throw new InputError('has two lists of samples');
  if (samples.root !== null) return;
  if (list.items === null) throw new InputError(`expected samples, found a ${list.typeName} of numbers`);
  for (const item of list.items) samples.handOut(item, 0);
}

function describeRoot(window: ByteWindow, root: PickleValue, samples: PickleValue | undefined): string {
  if (!(root instanceof DictValue)) return typeNameOf(root);
  if (samples !== undefined) return `samples of type ${typeNameOf(samples)}`;
  const keys = Array.from(textPairs(window, root), ([key]) => key).slice(0, MOST_KEYS_NAMED);
  return `a dict with the keys ${keys.join(', ')}`;
}

const MOST_KEYS_NAMED = 20;
