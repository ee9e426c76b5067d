/** What parity takes for a reproducer. */
import { closeSync, openSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { itemsOf } from '../../src/commands/parity/items.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const readSync = () => {
    throw new Error('EIO');
  };
  return { ...fs, openSync: vi.fn(fs.openSync), closeSync: vi.fn(fs.closeSync), readSync };
});

test('a file that cannot be read is closed', async () => {
  await expect(itemsOf(['package.json', 'package.json'], {} as Parameters<typeof itemsOf>[1])).rejects.toThrow();
  expect(vi.mocked(openSync)).toHaveBeenCalled();
  for (const { value } of vi.mocked(openSync).mock.results) expect(vi.mocked(closeSync)).toHaveBeenCalledWith(value);
});
