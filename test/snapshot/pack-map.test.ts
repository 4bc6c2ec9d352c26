import { expect, test } from 'vitest';
import {
  type BlockPlace,
  decodeMap,
  decodeTrailer,
  encodeMap,
  HEAD_BYTES,
  MAGIC,
  mapBytesMax,
  TRAILER_BYTES,
} from '../../src/snapshot/pack-format.ts';
import { readPackMap } from '../../src/snapshot/read-pack.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';

const own = { key: 'snapshots/000000000001-a.pack', bytes: 1_000, sha256: 'a'.repeat(64) };
const block: BlockPlace = { pack: 0, offset: 8, length: 92, sha256: Buffer.alloc(32, 7) };

/** The map of a file that has only its headers, and the trailer after it. */
async function encoded(place: Partial<BlockPlace> = {}) {
  const map = { fileBytes: HEAD_BYTES, packs: [own], blocks: [{ ...block, ...place }] };
  const bytes = await encodeMap(map, 100);
  return { bytes: bytes.subarray(0, -TRAILER_BYTES), trailer: bytes.subarray(-TRAILER_BYTES) };
}

test('a map is read as it was written', async () => {
  const { bytes } = await encoded();
  expect(await decodeMap(bytes, own, HEAD_BYTES)).toEqual({
    fileBytes: HEAD_BYTES,
    packs: [own],
    blocks: [block],
  });
});

test('a map of another pack or of another file is refused', async () => {
  const { bytes } = await encoded();
  const other = { ...own, key: 'snapshots/000000000002-b.pack' };
  await expect(decodeMap(bytes, other, HEAD_BYTES)).rejects.toThrow(`the map is of ${own.key}`);
  await expect(decodeMap(bytes, own, HEAD_BYTES + 1)).rejects.toThrow('it is of a file of 12288 bytes');
});

test.each<[string, Partial<BlockPlace>]>([
  ['in a pack that is not listed', { pack: 1 }],
  ['in the first bytes of a pack', { offset: 7 }],
  ['beyond the end of its pack', { offset: 909 }],
  ['without bytes', { length: 0 }],
  ['larger than it can be', { length: HEAD_BYTES + 1 }],
])('a block %s is refused', async (_, place) => {
  const { bytes } = await encoded(place);
  await expect(
    decodeMap(bytes, { ...own, bytes: place.length ? 99_999 : 1_000 }, HEAD_BYTES),
  ).rejects.toThrow('no place of block 0');
});

test('a block may end with its pack', async () => {
  const { bytes } = await encoded({ offset: 908 });
  expect((await decodeMap(bytes, own, HEAD_BYTES)).blocks[0]!.offset).toBe(908);
});

test('a trailer belongs to a pack of one size', async () => {
  const { bytes, trailer } = await encoded();
  const packBytes = 100 + bytes.length + TRAILER_BYTES;
  expect(decodeTrailer(trailer, packBytes)).toMatchObject({ mapOffset: 100, mapBytes: bytes.length });
  expect(decodeTrailer(trailer, packBytes + 1)).toBeUndefined();
  expect(decodeTrailer(Buffer.alloc(TRAILER_BYTES), packBytes)).toBeUndefined();
});

test('a map begins after the first bytes of its pack', async () => {
  const map = { fileBytes: HEAD_BYTES, packs: [own], blocks: [block] };
  const decoded = async (mapOffset: number) => {
    const bytes = await encodeMap(map, mapOffset);
    return decodeTrailer(bytes.subarray(-TRAILER_BYTES), mapOffset + bytes.length);
  };
  expect(await decoded(MAGIC.length)).toMatchObject({ mapOffset: MAGIC.length });
  expect(await decoded(MAGIC.length - 1)).toBeUndefined();
});

test('a map that is too large for its file is refused before it is read', async () => {
  const store = createFolderStore(tempDir());
  const packOf = async (mapBytes: number) => {
    const trailer = Buffer.alloc(TRAILER_BYTES);
    trailer.writeUIntLE(MAGIC.length, 0, 6);
    trailer.writeUIntLE(mapBytes, 6, 6);
    MAGIC.copy(trailer, 44);
    const bytes = Buffer.concat([MAGIC, Buffer.alloc(mapBytes), trailer]);
    const key = `snapshots/${mapBytes}.pack`;
    await store.put(key, { bytes });
    return readPackMap(store, { ...own, key, bytes: bytes.length }, { fileBytes: HEAD_BYTES });
  };
  const most = mapBytesMax(HEAD_BYTES);
  await expect(packOf(most + 1)).rejects.toThrow('its map is too large');
  await expect(packOf(most)).rejects.toThrow('the SHA-256 of its map is not the noted one');
});
