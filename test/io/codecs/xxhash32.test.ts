import { expect, test } from 'vitest';
import { xxhash32 } from '../../../src/io/codecs/xxhash32.ts';
import { HASHES } from './support.ts';

test.each(HASHES)('$length bytes hash to $xxh32, wherever they lie', ({ length, xxh32 }) => {
  const bytes = Uint8Array.from({ length: length + 3 }, (_, i) => (7 * (i - 3) + 3) & 0xff);
  expect(xxhash32(bytes.subarray(3))).toBe(xxh32);
});
