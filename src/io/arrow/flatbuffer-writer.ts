/**
 * FlatBuffers written from the root to the leaves, optionally in front of the bytes of an old one: as offsets only lead
 * forwards, new tables can point into those, and whatever hangs there is kept unread.
 */

/** A table, a vector or a text to write, or the position of one in the old bytes. */
export type FlatNode =
  | { readonly kind: 'table'; readonly slots: readonly (FlatSlot | null)[] }
  | { readonly kind: 'offsets'; readonly entries: readonly FlatNode[] }
  | { readonly kind: 'structs'; readonly count: number; readonly bytes: Uint8Array }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'old'; readonly position: number };

export type FlatSlot =
  | { readonly kind: 'int8'; readonly value: number }
  | { readonly kind: 'int16'; readonly value: number }
  | { readonly kind: 'int32'; readonly value: number }
  | { readonly kind: 'int64'; readonly value: bigint }
  | { readonly kind: 'offset'; readonly to: FlatNode };

export const table = (...slots: (FlatSlot | null)[]): FlatNode => ({ kind: 'table', slots });
export const offsets = (entries: readonly FlatNode[]): FlatNode => ({ kind: 'offsets', entries });
export const text = (value: string): FlatNode => ({ kind: 'text', text: value });
export const old = (position: number): FlatNode => ({ kind: 'old', position });
export const int8 = (value: number): FlatSlot => ({ kind: 'int8', value });
export const int16 = (value: number): FlatSlot => ({ kind: 'int16', value });
export const int32 = (value: number): FlatSlot => ({ kind: 'int32', value });
export const int64 = (value: number | bigint): FlatSlot => ({ kind: 'int64', value: BigInt(value) });
export const offset = (to: FlatNode): FlatSlot => ({ kind: 'offset', to });

/** Structs of 64-bit integers, `perEntry` of them in each. */
export function longs(values: readonly number[], perEntry: number): FlatNode {
  return {
    kind: 'structs',
    count: values.length / perEntry,
    bytes: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
  };
}

/** A slot for what an old table points to, or none. */
export function kept(position: number): FlatSlot | null {
  return position < 0 ? null : offset(old(position));
}

const ALIGNMENT = 8;
const SLOT_BYTES = { int8: 1, int16: 2, int32: 4, int64: 8, offset: 4 } as const;

/** The FlatBuffer of `root`, a multiple of 8 bytes long, that ends in the bytes of the old one. */
export function serialize(root: FlatNode, oldBytes: Uint8Array = new Uint8Array(0)): Uint8Array {
  const writer = new Writer();
  writer.pointTo(root, writer.reserve(4, 4));
  for (let next = writer.nextPending(); next !== undefined; next = writer.nextPending()) {
    writer.patch(next.from, writer.place(next.node));
  }
  return writer.finish(oldBytes);
}

interface Pending {
  readonly from: number;
  readonly node: FlatNode;
}

class Writer {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  readonly #pending: Pending[] = [];
  #pendingDone = 0;
  readonly #intoOld: { from: number; position: number }[] = [];

  nextPending(): Pending | undefined {
    return this.#pending[this.#pendingDone++];
  }

  /** Room for bytes at an aligned position; what is skipped stays zero. */
  reserve(byteLength: number, alignment: number, lead = 0): number {
    const position = alignUp(this.#length + lead, alignment);
    const end = position + byteLength;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    this.#length = end;
    return position;
  }

  pointTo(node: FlatNode, from: number): void {
    if (node.kind === 'old') this.#intoOld.push({ from, position: node.position });
    else this.#pending.push({ from, node });
  }

  patch(from: number, to: number): void {
    this.#view.setUint32(from, to - from, true);
  }

  place(node: FlatNode): number {
    switch (node.kind) {
      case 'table':
        return this.#placeTable(node.slots);
      case 'offsets': {
        const position = this.reserve(4 + 4 * node.entries.length, 4);
        this.#view.setUint32(position, node.entries.length, true);
        for (const [i, entry] of node.entries.entries()) this.pointTo(entry, position + 4 + 4 * i);
        return position;
      }
      case 'structs': {
        const start = this.reserve(node.bytes.length, ALIGNMENT, 4);
        this.#view.setUint32(start - 4, node.count, true);
        this.#bytes.set(node.bytes, start);
        return start - 4;
      }
      case 'text': {
        const encoded = new TextEncoder().encode(node.text);
        const position = this.reserve(4 + encoded.length + 1, 4);
        this.#view.setUint32(position, encoded.length, true);
        this.#bytes.set(encoded, position + 4);
        return position;
      }
      case 'old':
        throw new Error('the old bytes are in place already');
    }
  }

  #placeTable(slots: readonly (FlatSlot | null)[]): number {
    const slotOffsets: number[] = [];
    let byteLength = 4;
    for (const slot of slots) {
      if (slot === null) {
        slotOffsets.push(0);
        continue;
      }
      byteLength = alignUp(byteLength, SLOT_BYTES[slot.kind]);
      slotOffsets.push(byteLength);
      byteLength += SLOT_BYTES[slot.kind];
    }
    const vtableByteLength = 4 + 2 * slots.length;
    const vtable = this.reserve(vtableByteLength, 2);
    const position = this.reserve(byteLength, ALIGNMENT);
    this.#view.setUint16(vtable, vtableByteLength, true);
    this.#view.setUint16(vtable + 2, byteLength, true);
    this.#view.setInt32(position, position - vtable, true);
    for (const [i, slot] of slots.entries()) {
      this.#view.setUint16(vtable + 4 + 2 * i, slotOffsets[i], true);
      if (slot !== null) this.#placeSlot(slot, position + slotOffsets[i]);
    }
    return position;
  }

  #placeSlot(slot: FlatSlot, position: number): void {
    if (slot.kind === 'int8') this.#view.setInt8(position, slot.value);
    else if (slot.kind === 'int16') this.#view.setInt16(position, slot.value, true);
    else if (slot.kind === 'int32') this.#view.setInt32(position, slot.value, true);
    else if (slot.kind === 'int64') this.#view.setBigInt64(position, slot.value, true);
    else this.pointTo(slot.to, position);
  }

  finish(oldBytes: Uint8Array): Uint8Array {
    // An aligned start keeps everything in the old bytes as aligned as it was.
    const base = this.reserve(alignUp(oldBytes.length, ALIGNMENT), ALIGNMENT);
    this.#bytes.set(oldBytes, base);
    for (const { from, position } of this.#intoOld) this.patch(from, base + position);
    return this.#bytes.subarray(0, this.#length);
  }
}

/** The next multiple of `alignment`, a power of two, from `value` on. */
export function alignUp(value: number, alignment: number): number {
  const beyond = value % alignment;
  return beyond === 0 ? value : value + alignment - beyond;
}
