/** Torch files of plain values: dicts, lists, text, whole and other numbers, booleans, null. */
import { pickleOf, text, torchFile, uint32 } from './support.ts';

export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [name: string]: Plain };

/** A file whose root is a dict with these samples, and what is to stand beside them. */
export function samplesFile(samples: readonly Plain[], metadata: Plain = null): Buffer {
  return torchFile('\x80\x02', pickled({ samples, metadata }), '.');
}

/** Whole numbers are pickled as integers, those past 2^53 aside. */
export function pickled(value: Plain): Buffer {
  if (value === null) return pickleOf('N');
  if (typeof value === 'boolean') return pickleOf(value ? '\x88' : '\x89');
  if (typeof value === 'string') return pickleOf(text(value));
  if (typeof value === 'number') return Number.isSafeInteger(value) ? pickleOf('J', uint32(value >>> 0)) : float(value);
  if (Array.isArray(value)) return pickleOf(']', '(', ...value.map(pickled), 'e');
  const pairs = Object.entries(value as Record<string, Plain>).flatMap(([name, inner]) => [text(name), pickled(inner)]);
  return pickleOf('}', '(', ...pairs, 'u');
}

/** BINFLOAT. */
function float(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.write('G', 'latin1');
  bytes.writeDoubleBE(value, 1);
  return bytes;
}
