import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sha256Hex } from '../../src/lib/durable-files.ts';
import { receiveFile } from '../../src/storage/receive-file.ts';
import { tempDir } from '../support/temp-dir.ts';

async function* chunksOf(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

/** Receives chunks into a file of a new folder, if they are the expected text. */
async function receive(chunks: string[], expected: string, signal?: AbortSignal) {
  const folder = tempDir();
  const path = join(folder, 'below', 'file');
  const object = { bytes: expected.length, sha256: sha256Hex(expected) };
  const damagedError = (what: string) => new Error(what);
  const options = { damagedError, ...(signal && { signal }) };
  const failure = await receiveFile(chunksOf(...chunks), path, object, options).catch((error) => error);
  expect(readdirSync(join(folder, 'below'))).toEqual(existsSync(path) ? ['file'] : []);
  return { failure, text: existsSync(path) ? readFileSync(path, 'utf8') : undefined };
}

test('a file is there when all its bytes have arrived', async () => {
  expect(await receive(['ab', 'cd'], 'abcd')).toEqual({ failure: undefined, text: 'abcd' });
  expect(await receive([], '')).toEqual({ failure: undefined, text: '' });
});

test.each([
  ['too many bytes', ['abcd', 'e'], 'it has more than the noted 4 bytes'],
  ['too few bytes', ['abc'], 'it has 3 bytes instead of 4 bytes'],
  ['other bytes', ['abcx'], 'its SHA-256 differs from the recorded one'],
])('%s are refused, and nothing is left', async (_, chunks, message) => {
  expect(await receive(chunks, 'abcd')).toMatchObject({ failure: { message }, text: undefined });
});

test('an abort ends it, and the file that was there stays', async () => {
  const reason = new Error('enough');
  const path = join(tempDir(), 'file');
  writeFileSync(path, 'before');
  const receiving = receiveFile(
    chunksOf('abcd'),
    path,
    { bytes: 4, sha256: sha256Hex('abcd') },
    { damagedError: (what) => new Error(what), signal: AbortSignal.abort(reason) },
  );
  await expect(receiving).rejects.toBe(reason);
  expect(readFileSync(path, 'utf8')).toBe('before');
});

test('the bytes are on the disk before the file has its name, and the name before the end', async () => {
  const path = join(tempDir(), 'file');
  const handle = await open(join(tempDir(), 'other'), 'w');
  await handle.close();
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  const { sync } = prototype;
  onTestFinished(() => {
    prototype.sync = sync;
  });
  const hadName: boolean[] = [];
  prototype.sync = function () {
    hadName.push(existsSync(path));
    return sync.call(this);
  };
  const object = { bytes: 4, sha256: sha256Hex('abcd') };
  await receiveFile(chunksOf('abcd'), path, object, { damagedError: (what) => new Error(what) });
  expect(hadName).toEqual([false, true]);
});
