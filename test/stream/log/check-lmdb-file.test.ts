import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkLmdbFile } from '../../../src/stream/log/check-lmdb-file.ts';
import { tempDir } from '../../support/temp-dir.ts';

const PAGE_BYTES = 4_096;

/** A file of a log with this number of pages. Its first two pages name the last page of a transaction. */
function logFile(pages: number, metas: ReadonlyArray<{ transaction: number; lastPage: number }>): string {
  const bytes = Buffer.alloc(pages * PAGE_BYTES);
  for (const [index, { transaction, lastPage }] of metas.entries()) {
    const page = bytes.subarray(index * PAGE_BYTES);
    page.writeUInt32LE(0xbeefc0de, 24);
    page.writeUInt32LE(PAGE_BYTES, 48);
    page.writeBigUInt64LE(BigInt(lastPage), 144);
    page.writeBigUInt64LE(BigInt(transaction), 152);
  }
  return written(bytes);
}

function written(bytes: Uint8Array): string {
  const folder = tempDir();
  writeFileSync(join(folder, 'data.mdb'), bytes);
  return folder;
}

const older = { transaction: 4, lastPage: 9 };

test.each([
  ['has all its pages', 10, [older, { transaction: 5, lastPage: 9 }]],
  ['lacks 16 pages, which were never written', 84, [older, { transaction: 5, lastPage: 99 }]],
  [
    'has shrunk, as its newer transaction says',
    10,
    [
      { transaction: 4, lastPage: 99 },
      { transaction: 5, lastPage: 9 },
    ],
  ],
  [
    'has shrunk, and the newer transaction is in the first page',
    10,
    [
      { transaction: 5, lastPage: 9 },
      { transaction: 4, lastPage: 99 },
    ],
  ],
  ['has only its first page', 1, [{ transaction: 1, lastPage: 0 }]],
])('a log can be opened that %s', (_, pages, metas) => {
  expect(() => checkLmdbFile(logFile(pages, metas))).not.toThrow();
});

test.each([
  ['the newer transaction is in the second page', [older, { transaction: 5, lastPage: 99 }]],
  ['the newer transaction is in the first page', [{ transaction: 5, lastPage: 99 }, older]],
])('a log that lacks 17 pages is damaged, and the error has both sizes: %s', (_, metas) => {
  expect(() => checkLmdbFile(logFile(83, metas))).toThrow(
    expect.objectContaining({
      code: 'DamagedLog',
      message: expect.stringContaining('it has 339,968 of 409,600 bytes'),
      details: expect.objectContaining({ bytes: 339_968, wantedBytes: 409_600 }),
    }),
  );
});

test('a log without a file, or with an empty one, is new', () => {
  expect(() => checkLmdbFile(tempDir())).not.toThrow();
  expect(() => checkLmdbFile(written(new Uint8Array()))).not.toThrow();
});

test.each([
  ['is shorter than the description of a log', 100],
  ['is of another program', PAGE_BYTES],
])('a file that %s is not a log', (_, bytes) => {
  expect(() => checkLmdbFile(written(Buffer.alloc(bytes, 1)))).toThrow(
    expect.objectContaining({ code: 'DamagedLog', message: expect.stringContaining('is not a log') }),
  );
});
