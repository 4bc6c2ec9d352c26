import { hash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { checkPackedFile, hashAndCheckFile } from '../../src/import/hash-and-check-file.ts';
import { zstdFrames } from '../../src/import/zstd-frames.ts';
import { tempDir } from '../support/temp-dir.ts';

const { ZSTD_c_checksumFlag, ZSTD_c_contentSizeFlag } = constants;
const skipped = Buffer.from('5e2a4d1803000000616263', 'hex');
const frames = [
  zstdCompressSync('time,total\n'),
  zstdCompressSync(''),
  skipped,
  zstdCompressSync(randomBytes(700_000), { params: { [ZSTD_c_checksumFlag]: 1 } }),
  zstdCompressSync(Buffer.alloc(3_000_000), { params: { [ZSTD_c_contentSizeFlag]: 0 } }),
  zstdCompressSync(randomBytes(1_200_000).toString('hex'), { params: { [ZSTD_c_checksumFlag]: 1 } }),
];

function fileOf(content: Buffer): string {
  const path = join(tempDir(), 'a.csv.zst');
  writeFileSync(path, content);
  return path;
}
const check = (content: Buffer) => checkPackedFile(fileOf(content), new AbortController().signal);

test('the frames of a file are found by their sizes', async () => {
  const found: number[] = [];
  for await (const { start, end } of zstdFrames(fileOf(Buffer.concat(frames)))) found.push(end - start);
  expect(found).toEqual(frames.map(({ length }) => length));
});

test('the hash of a file of several frames is that of its bytes, and each byte is counted once', async () => {
  const whole = Buffer.concat(frames);
  let bytes = 0;
  const found = await hashAndCheckFile(fileOf(whole), {
    signal: new AbortController().signal,
    onBytes: (read) => {
      bytes += read;
    },
  });
  expect(found).toBe(hash('sha256', whole, 'hex'));
  expect(bytes).toBe(whole.length);
});

test('a file of several frames is checked to its end', { tags: ['slow'] }, async () => {
  const whole = Buffer.concat(frames);
  await check(whole);
  const lastAt = whole.length - frames.at(-1)!.length;
  for (const length of [whole.length - 1, whole.length - 5, lastAt + 3, lastAt + 7])
    await expect(check(whole.subarray(0, length))).rejects.toThrow(/damaged or cut off: unexpected end/);
  await expect(check(Buffer.concat([whole, Buffer.from('more')]))).rejects.toThrow(
    'there is something else behind the packed data',
  );
  const changed = Buffer.from(whole);
  changed[whole.length - 1]! ^= 1;
  await expect(check(changed)).rejects.toThrow(/damaged or cut off/);
});
