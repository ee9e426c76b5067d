/** A file in the making: the chunks that are to be encoded, by whom it does not matter, and the writer that takes them. */
import type { ChunkRequest, EncodedChunk } from './encode-chunk.ts';

export interface ChunkJob {
  /** In the order in which the writer takes the chunks. */
  readonly requests: Iterable<ChunkRequest>;
  /** Begins with the first next(), which brings nothing, and takes a chunk with each other; it ends after the last. */
  readonly writer: Generator<void, void, EncodedChunk>;
}
