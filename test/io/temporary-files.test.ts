import { existsSync, mkdtempSync, readdirSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileError } from '../../src/errors.ts';
import {
  createTemporaryFile,
  fileError,
  forgetTemporaryFile,
  removeTemporaryFile,
  removeTemporaryFiles,
} from '../../src/io/temporary-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function create(name: string): Promise<string> {
  const path = join(folder, name);
  await (await createTemporaryFile(path, 0o600)).close();
  return path;
}

test('all are removed at once, except those that were forgotten or are gone', async () => {
  const [kept, gone, first, second] = await Promise.all(['kept', 'gone', 'first', 'second'].map(create));
  forgetTemporaryFile(kept);
  unlinkSync(gone);
  removeTemporaryFiles();
  expect([kept, first, second].map((path) => existsSync(path))).toEqual([true, false, false]);
  removeTemporaryFiles();
});

test('one is removed, also when it is gone already', async () => {
  const path = await create('one');
  await removeTemporaryFile(path);
  expect(existsSync(path)).toBe(false);
  await removeTemporaryFile(path);
});

test('one whose creation is under way is removed too', async () => {
  const creating = createTemporaryFile(join(folder, 'early'), 0o600);
  removeTemporaryFiles();
  await creating.then(
    (handle) => handle.close(),
    () => {},
  );
  expect(readdirSync(folder)).toEqual([]);
});

test('a file that exists is neither taken nor removed', async () => {
  const path = await create('present');
  forgetTemporaryFile(path);
  await expect(createTemporaryFile(path, 0o600)).rejects.toThrow('EEXIST');
  removeTemporaryFiles();
  expect(existsSync(path)).toBe(true);
});

test('a failure is told in words', () => {
  const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), { errno: -28, code: 'ENOSPC' });
  expect(fileError('out.jsonl', 'cannot write', cause)).toEqual(
    new FileError('out.jsonl: cannot write: no space left on device'),
  );
  expect(fileError('out.jsonl', 'cannot write', new Error('odd')).message).toBe('out.jsonl: cannot write: odd');
});
