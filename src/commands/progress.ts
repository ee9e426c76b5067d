/** A bar on stderr for work that takes longer than a moment; silent where stderr is no terminal. */
import { SingleBar } from 'cli-progress';

const DELAY_MS = 1000;
const MEGABYTE = 1e6;

export class Progress {
  readonly #started = performance.now();
  readonly #totalBytes: number | undefined;
  #bar: SingleBar | null = null;
  #bytes = 0;

  /** @param totalBytes of all passes together; undefined where it is not known beforehand */
  constructor(totalBytes: number | undefined) {
    this.#totalBytes = totalBytes;
  }

  /** @param bytes that have passed since the last call */
  advance(bytes: number, stage: string): void {
    this.#bytes += bytes;
    this.#show(stage);
  }

  stop(): void {
    this.#bar?.stop();
    this.#bar = null;
  }

  #show(stage: string): void {
    if (!process.stderr.isTTY || performance.now() - this.#started < DELAY_MS) return;
    const value = Math.round(this.#bytes / MEGABYTE);
    const total = this.#totalBytes === undefined ? value : Math.round(this.#totalBytes / MEGABYTE);
    if (!this.#bar) {
      const format =
        this.#totalBytes === undefined
          ? '{stage} {value} MB'
          : '{stage} [{bar}] {percentage}% {value}/{total} MB, {eta_formatted} left';
      this.#bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true, hideCursor: null });
      this.#bar.start(total, value, { stage });
    }
    this.#bar.update(Math.min(value, total), { stage });
  }
}
