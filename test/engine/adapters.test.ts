/** Adapters by a part of their name, or by their number in the list. */
import { expect, test } from 'vitest';
import { AdapterError } from '../../src/index.ts';
import { findAdapter, listAdapterNames } from '../../src/kernels/webgpu/adapters.ts';

test('an adapter is found by its number in the list', async () => {
  const names = await listAdapterNames();
  expect(names.length).toBeGreaterThan(0);
  for (const [i, name] of names.entries()) {
    const byName = await findAdapter(name);
    const byNumber = await findAdapter(String(i));
    expect(byNumber.description).toBe(byName.description);
  }
});

test('a number past the list is refused, with the list', async () => {
  const [first] = await listAdapterNames();
  await expect(findAdapter('99')).rejects.toThrow(AdapterError);
  await expect(findAdapter('99')).rejects.toThrow(`there is no adapter 99; there is: 0 ${first}`);
});
