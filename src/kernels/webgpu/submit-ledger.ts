/**
 * Proves that what was submitted ran. A submission that a driver drops without an error leaves zeros or old numbers, from
 * which the next kernel computes plausible ones; so every submission also copies a mark into a slot of its own, and the
 * slots are read back with every result.
 */
import { BackendError } from '../../errors.ts';

const DEFAULT_SLOTS = 1 << 14;
const BYTES = 4;

export class SubmitLedger {
  readonly #device: GPUDevice;
  readonly #slotCount: number;
  #marks: GPUBuffer | null = null;
  #slots: GPUBuffer | null = null;
  #signed = 0;
  #verified = 0;

  constructor(device: GPUDevice, slots = DEFAULT_SLOTS) {
    this.#device = device;
    this.#slotCount = slots;
  }

  /** Bytes of slots that were signed and not yet verified. */
  get pendingBytes(): number {
    return (this.#signed - this.#verified) * BYTES;
  }

  /** No further submission can be signed until the pending ones are verified. */
  get isFull(): boolean {
    return this.#signed === this.#slotCount;
  }

  /** Adds this submission's mark to its commands. */
  sign(encoder: GPUCommandEncoder): void {
    if (this.isFull && this.pendingBytes === 0) this.close();
    const { marks, slots } = this.#buffers();
    encoder.copyBufferToBuffer(marks, this.#signed * BYTES, slots, this.#signed * BYTES, BYTES);
    this.#signed++;
  }

  /** Copies the pending slots to the end of a result that is about to be read back. */
  copyPending(encoder: GPUCommandEncoder, target: GPUBuffer, offset: number): void {
    if (this.pendingBytes === 0) return;
    encoder.copyBufferToBuffer(this.#buffers().slots, this.#verified * BYTES, target, offset, this.pendingBytes);
  }

  /** @throws BackendError where one of the pending submissions did not run */
  verify(pending: Uint32Array): void {
    const first = this.#verified;
    this.#verified += pending.length;
    const missing = pending.findIndex((mark, i) => mark !== markOf(first + i));
    if (missing >= 0)
      throw new BackendError(`the GPU did not run submission ${missing + 1} of ${pending.length} before a result`);
  }

  close(): void {
    this.#marks?.destroy();
    this.#slots?.destroy();
    this.#marks = null;
    this.#slots = null;
    this.#signed = 0;
    this.#verified = 0;
  }

  #buffers(): { marks: GPUBuffer; slots: GPUBuffer } {
    if (!this.#marks || !this.#slots) {
      const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
      this.#marks = this.#device.createBuffer({ label: 'ledger marks', size: this.#slotCount * BYTES, usage });
      this.#slots = this.#device.createBuffer({ label: 'ledger slots', size: this.#slotCount * BYTES, usage });
      this.#device.queue.writeBuffer(
        this.#marks,
        0,
        Uint32Array.from({ length: this.#slotCount }, (_, slot) => markOf(slot)),
      );
    }
    return { marks: this.#marks, slots: this.#slots };
  }
}

/** Neither 0, which an untouched slot holds, nor the sentinel of an untouched read-back. */
const markOf = (slot: number): number => slot + 1;
