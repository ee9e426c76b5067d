import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JoinedColumn } from '../../src/samples/joined-column.ts';

const newColumn = () => new JoinedColumn<Uint32Array>((length) => new Uint32Array(length), 7);

test('chunks make the column, whatever was expected and whichever were left out', () => {
  const chunk = fc.record({ rows: fc.array(fc.nat(1000), { maxLength: 20 }), isPut: fc.boolean() });
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 12 }), fc.nat(100), (chunks, expectedRows) => {
      const column = newColumn();
      const whole: number[] = [];
      for (const { rows, isPut } of chunks) {
        if (isPut) column.put(Uint32Array.from(rows), whole.length, expectedRows);
        whole.push(...(isPut ? rows : rows.map(() => 7)));
      }
      const some = chunks.some(({ isPut }) => isPut);
      expect(column.isEmpty).toBe(!some);
      const taken = column.take(whole.length);
      expect(taken && [...taken]).toEqual(some ? whole : null);
      expect(column.take(whole.length)).toBe(null);
    }),
  );
});

test('the only chunk is the column itself, and an expected length is met without growth', () => {
  const chunk = Uint32Array.of(1, 2, 3);
  const one = newColumn();
  one.put(chunk, 0, 3);
  expect(one.take(3)).toBe(chunk);
  const two = newColumn();
  two.put(chunk, 0, 6);
  two.put(chunk, 3, 6);
  const taken = two.take(6)!;
  expect([...taken]).toEqual([1, 2, 3, 1, 2, 3]);
  expect(taken.buffer.byteLength).toBe(24);
});
