import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAGIC } from '../../src/snapshot/pack-format.ts';
import { readPieces, type WantedBlock } from '../../src/snapshot/read-pieces.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'snapshots/000000000001-test.pack';
const BLOCK_BYTES_MAX = 50;

/** A pack of random bytes: blocks with gaps before them, and something after the last one. */
function packOf(layout: ReadonlyArray<readonly [gap: number, length: number]>, after: number) {
  let at = MAGIC.length;
  const blocks = layout.map(([gap, length], index): WantedBlock => {
    const offset = at + gap;
    at = offset + length;
    return { index, pack: 0, offset, length, sha256: Buffer.alloc(32) };
  });
  const bytes = Buffer.concat([MAGIC, randomBytes(at - MAGIC.length + after)]);
  const folder = tempDir();
  mkdirSync(join(folder, 'snapshots'));
  writeFileSync(join(folder, KEY), bytes);
  return {
    store: createFolderStore(folder),
    bytes,
    blocks,
    pack: { key: KEY, bytes: bytes.length, sha256: '' },
  };
}

test('the pieces of a pack are all of its bytes, and each wanted block is in one of them', async () => {
  const block = fc.tuple(fc.nat(300), fc.integer({ min: 1, max: BLOCK_BYTES_MAX }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(block, { maxLength: 30 }),
      fc.nat(100),
      fc.integer({ min: BLOCK_BYTES_MAX, max: 400 }),
      async (layout, after, pieceBytes) => {
        const { store, bytes, blocks, pack } = packOf(layout, after);
        const read: Buffer[] = [];
        const found: number[] = [];
        for await (const piece of readPieces(store, pack, blocks.toReversed(), { pieceBytes })) {
          expect(piece.bytes.length).toBeLessThanOrEqual(pieceBytes);
          expect(piece.start).toBe(read.reduce((sum, { length }) => sum + length, 0));
          read.push(piece.bytes);
          for (const { index, offset, length } of piece.blocks) {
            found.push(index);
            const inPiece = piece.bytes.subarray(offset - piece.start, offset - piece.start + length);
            expect(inPiece.equals(bytes.subarray(offset, offset + length))).toBe(true);
          }
        }
        expect(Buffer.concat(read).equals(bytes)).toBe(true);
        expect(found).toEqual(blocks.map(({ index }) => index));
      },
    ),
    { numRuns: rounds(100, 2_000) },
  );
});

test('blocks that overlap are refused', async () => {
  const { store, blocks, pack } = packOf(
    [
      [0, 40],
      [0, 40],
    ],
    0,
  );
  blocks[1]!.offset -= 1;
  await expect(readPieces(store, pack, blocks).next()).rejects.toMatchObject({
    code: 'ObjectDamaged',
    message: expect.stringContaining('its blocks overlap'),
  });
});

test.each([
  [-1, 'it has more than the noted'],
  [1, 'it has fewer than the noted'],
])('a pack that has another size than was noted (%i bytes) is refused', async (moreNoted, message) => {
  const { store, blocks, pack } = packOf([[0, 40]], 20);
  const noted = { ...pack, bytes: pack.bytes + moreNoted };
  await expect(readPieces(store, noted, blocks).next()).rejects.toMatchObject({
    code: 'ObjectDamaged',
    message: expect.stringContaining(message),
  });
});

test('two pieces are read ahead, and a caller that stops early waits for none', async () => {
  const { store, blocks, pack } = packOf(
    Array.from({ length: 30 }, () => [0, 50] as const),
    0,
  );
  let hanging = 0;
  const hangs = {
    ...store,
    getRange: (key: string, start: number, length: number, signal?: AbortSignal) =>
      start === 0
        ? store.getRange(key, start, length)
        : new Promise<never>((_, reject) => {
            hanging += 1;
            signal!.addEventListener('abort', () => {
              hanging -= 1;
              reject(signal!.reason);
            });
          }),
  };
  for await (const piece of readPieces(hangs, pack, blocks, { pieceBytes: 60 })) {
    expect(piece.start).toBe(0);
    expect(hanging).toBe(2);
    break;
  }
  expect(hanging).toBe(0);
});
