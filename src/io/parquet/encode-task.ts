/** Encodes the chunks of a file in whatever threads there are; its bytes are the same for any number of them. */
import { prepareBlockCodecs } from '../codecs/block.ts';
import type { TaskPool } from '../task-pool.ts';
import type { ChunkJob } from './chunk-job.ts';
import { type ChunkRequest, type EncodedChunk, encodeChunk, type WriteCodec } from './encode-chunk.ts';
import type { ColumnValues } from './new-columns.ts';

export interface EncodeTask {
  readonly do: 'encode';
  readonly requests: readonly ChunkRequest[];
  readonly codec: Exclude<WriteCodec, 'none'>;
}

export async function encodeChunks(
  { requests, codec }: EncodeTask,
  emit: (chunk: EncodedChunk) => void,
): Promise<void> {
  await prepareBlockCodecs([codec], 'writing');
  for (const request of requests) emit(encodeChunk(request, codec));
}

/** Fewer values are not worth a task of their own. */
const VALUES_OF_A_TASK = 1 << 17;
/** Tasks that may be done or under way and not yet written, for each thread. */
const AHEAD = 2;

export async function runChunkJobInPool(
  { requests, writer }: ChunkJob,
  codec: EncodeTask['codec'],
  pool: TaskPool,
): Promise<void> {
  const tasks = tasksOf(requests, pool.threads > 1);
  const running: { readonly done: Promise<void>; readonly chunks: EncodedChunk[] }[] = [];
  let failed = false;
  const begin = () => {
    const next = tasks.next();
    if (next.done) return;
    const chunks: EncodedChunk[] = [];
    const run = { emit: (chunk: unknown) => chunks.push(chunk as EncodedChunk), isCancelled: () => failed };
    const done = pool.run({ do: 'encode', requests: next.value, codec }, run);
    done.catch(() => {}); // it is awaited in its turn
    running.push({ done, chunks });
  };
  try {
    writer.next();
    for (let i = 0; i < AHEAD * pool.threads; i++) begin();
    for (let task = running.shift(); task; task = running.shift()) {
      await task.done;
      begin();
      for (const chunk of task.chunks) writer.next(chunk);
    }
  } finally {
    failed = true;
    await Promise.allSettled(running.map(({ done }) => done));
  }
}

function* tasksOf(requests: Iterable<ChunkRequest>, isElsewhere: boolean): Generator<ChunkRequest[]> {
  let task: ChunkRequest[] = [];
  let values = 0;
  for (const request of requests) {
    task.push(isElsewhere ? { ...request, values: detached(request.values) } : request);
    // What is the same in every row takes no time.
    if (request.values.kind !== 'constant text' && request.values.kind !== 'sequence') values += request.rowCount;
    if (values < VALUES_OF_A_TASK) continue;
    yield task;
    task = [];
    values = 0;
  }
  if (task.length > 0) yield task;
}

/** A copy of the values alone: what is sent to a thread goes there with the whole buffer that it is a part of. */
export function detached<V extends ColumnValues>(values: V): V;
export function detached(values: ColumnValues): ColumnValues {
  switch (values.kind) {
    case 'constant text':
    case 'sequence':
      return values;
    case 'text':
      return compactTexts(values);
    case 'float':
      return { ...values, values: values.values.slice(), present: slicePresence(values.present) };
    case 'double':
      return { ...values, values: values.values.slice(), present: slicePresence(values.present) };
    case 'int64':
      return { ...values, values: values.values.slice(), present: values.present?.slice() ?? null };
    case 'uint64':
      return { ...values, values: values.values.slice(), present: values.present?.slice() ?? null };
    case 'whole':
      return { ...values, values: values.values.slice(), present: values.present?.slice() ?? null };
    case 'int32':
      return { ...values, values: values.values.slice(), present: values.present?.slice() ?? null };
    case 'bool':
      return { ...values, values: values.values.slice(), present: values.present?.slice() ?? null };
  }
}

function slicePresence(present: Uint8Array | null | 'not NaN'): Uint8Array | null | 'not NaN' {
  return present instanceof Uint8Array ? present.slice() : present;
}

/** The texts that the rows use, numbered by first use. */
function compactTexts(values: Extract<ColumnValues, { kind: 'text' }>): ColumnValues {
  const { codes, bytes, offsets, present } = values;
  const entryOf = new Map<number, number>();
  const entries: number[] = [];
  let byteLength = 0;
  const own = codes.map((code, row) => {
    if (present !== null && present[row] === 0) return 0;
    let entry = entryOf.get(code);
    if (entry === undefined) {
      entry = entries.push(code) - 1;
      entryOf.set(code, entry);
      byteLength += offsets[code + 1] - offsets[code];
    }
    return entry;
  });
  const ownBytes = new Uint8Array(byteLength);
  const ownOffsets = new Float64Array(entries.length + 1);
  entries.forEach((code, i) => {
    ownBytes.set(bytes.subarray(offsets[code], offsets[code + 1]), ownOffsets[i]);
    ownOffsets[i + 1] = ownOffsets[i] + offsets[code + 1] - offsets[code];
  });
  return { kind: 'text', codes: own, bytes: ownBytes, offsets: ownOffsets, present: present?.slice() ?? null };
}
