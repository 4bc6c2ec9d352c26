import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { syncPath } from '../lib/durable-files.ts';
import { runAtATime } from '../lib/run-at-a-time.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';
import { receiveFile } from '../storage/receive-file.ts';
import { blockRange, decompress, type PackMap, type PackObject } from './pack-format.ts';
import { readBlocks, sha256OfBlock } from './read-blocks.ts';
import { readPackMap, throwMissing } from './read-pack.ts';
import { type PackPiece, readPieces, type WantedBlock } from './read-pieces.ts';

interface UnpackOptions {
  /** The newest pack of the snapshot. */
  pack: PackObject;
  /** The size of the warehouse file. */
  fileBytes: number;
  /**
   * The file to write, which appears when it is complete and durable. Without it the snapshot is only
   * checked.
   */
  path?: string;
  /**
   * A file next to `path` that may have many of the wanted blocks, such as the file of an earlier snapshot.
   * It becomes the draft of `path`. Its blocks that have the right SHA-256 stay, and only the others are read
   * from the packs. The caller has checked the packs. Default: none.
   */
  base?: string;
  /**
   * Without `base`: a folder that gets a copy of each pack under its key, complete and durable. The pack is
   * read only once for both. Default: none.
   */
  keepIn?: string;
  onProgress?: (doneBytes: number) => void;
  signal?: AbortSignal;
}

/** Node accepts no smaller chunks. */
const CHUNK_BYTES_MIN = 64;
/** Blocks that are decompressed at the same time: twice the threads of Node, so that none waits. */
const AT_A_TIME = 8;

type Write = (bytes: Uint8Array, position: number) => Promise<void>;

/**
 * Restores a warehouse file from its packs. Each pack is read once, from its beginning to its end. The
 * SHA-256 of each pack and of each block is checked, so a damaged pack is refused as a whole.
 * @throws TerminalError `ObjectDamaged` or `ObjectMissing`; then `path` has not changed
 */
export async function unpack(store: ObjectStore, options: UnpackOptions): Promise<PackMap> {
  const { pack, fileBytes, path, base, signal } = options;
  const map = await readPackMap(store, pack, { fileBytes, signal });
  if (path === undefined) {
    await unpackAll(store, map, async () => undefined, options);
    return map;
  }
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.restoring`;
  await rm(draft, { force: true });
  try {
    if (base !== undefined) await rename(base, draft);
    const file = await open(draft, base === undefined ? 'wx' : 'r+', 0o600);
    try {
      await file.truncate(map.fileBytes);
      const write: Write = async (bytes, position) => {
        for (let written = 0; written < bytes.length; )
          written += (await file.write(bytes, written, bytes.length - written, position + written))
            .bytesWritten;
      };
      if (base === undefined) await unpackAll(store, map, write, options);
      else await unpackChanged(store, map, { file, write, signal });
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncPath(dirname(path));
  return map;
}

async function unpackAll(
  store: ObjectStore,
  map: PackMap,
  write: Write,
  options: UnpackOptions,
): Promise<void> {
  const indexesByPack = Map.groupBy(map.blocks.keys(), (index) => map.blocks[index]!.pack);
  let doneBytes = 0;
  for (const [at, pack] of map.packs.entries()) {
    const blocksOfPack = (indexesByPack.get(at) ?? []).map((index) => ({ index, ...map.blocks[index]! }));
    await unpackOne(store, pack, blocksOfPack, map.fileBytes, write, {
      ...options,
      onProgress: (bytes) => options.onProgress?.(doneBytes + bytes),
    });
    doneBytes += pack.bytes;
  }
  const { keepIn, pack, signal } = options;
  if (keepIn === undefined) return;
  // The kept bytes have the right SHA-256. Their map must still be the one that was read before.
  const keptMap = await readPackMap(createFolderStore(keepIn), pack, { fileBytes: map.fileBytes, signal });
  if (!isDeepStrictEqual(keptMap, map)) throw damagedObject(store.address, pack.key, 'its map has changed');
}

/** Reads the blocks that a file does not have. */
async function unpackChanged(
  store: ObjectStore,
  map: PackMap,
  { file, write, signal }: { file: FileHandle; write: Write; signal: AbortSignal | undefined },
): Promise<void> {
  const { fileBytes, packs, blocks } = map;
  const read = async (target: Uint8Array, position: number) => {
    for (let filled = 0; filled < target.length; ) {
      const { bytesRead } = await file.read(target, filled, target.length - filled, position + filled);
      if (bytesRead === 0) throw new Error('the file was cut while it was restored');
      filled += bytesRead;
    }
  };
  for await (const batch of readBlocks(fileBytes, read)) {
    signal?.throwIfAborted();
    const changed = batch.filter(({ index, bytes }) => !sha256OfBlock(bytes).equals(blocks[index]!.sha256));
    await Promise.all(
      changed.map(async ({ index }) => {
        const place = { index, ...blocks[index]! };
        const pack = packs[place.pack]!;
        const packed =
          (await store.getRange(pack.key, place.offset, place.length, signal)) ??
          throwMissing(store, pack.key);
        const damagedError = (what: string) => damagedObject(store.address, pack.key, what);
        const { start, length } = blockRange(index, fileBytes);
        await write(await blockOf(packed, place, length, damagedError), start);
      }),
    );
  }
}

/** Reads one pack and writes its wanted blocks. */
async function unpackOne(
  store: ObjectStore,
  pack: PackObject,
  wanted: WantedBlock[],
  fileBytes: number,
  write: Write,
  { keepIn, onProgress, signal }: Pick<UnpackOptions, 'keepIn' | 'onProgress' | 'signal'>,
): Promise<void> {
  const damagedError = (what: string) => damagedObject(store.address, pack.key, what);

  async function writeBlocks({ start: from, bytes, blocks }: PackPiece): Promise<void> {
    await runAtATime(blocks, AT_A_TIME, async (place) => {
      signal?.throwIfAborted();
      const packed = bytes.subarray(place.offset - from, place.offset - from + place.length);
      const { start, length } = blockRange(place.index, fileBytes);
      await write(await blockOf(packed, place, length, damagedError), start);
    });
  }

  /** The bytes of the pack. Its blocks are written while the caller uses them. */
  async function* bytesOfPack(): AsyncGenerator<Buffer> {
    for await (const piece of readPieces(store, pack, wanted, { signal })) {
      signal?.throwIfAborted();
      const writing = writeBlocks(piece);
      // The error is thrown where this is awaited. This line only prevents an unhandled rejection.
      writing.catch(() => undefined);
      try {
        yield piece.bytes;
      } finally {
        await writing;
      }
      onProgress?.(piece.start + piece.bytes.length);
    }
  }

  if (keepIn !== undefined)
    return receiveFile(bytesOfPack(), join(keepIn, pack.key), pack, { damagedError, signal });
  const hash = createHash('sha256');
  for await (const bytes of bytesOfPack()) hash.update(bytes);
  if (hash.digest('hex') !== pack.sha256) throw damagedError('its SHA-256 differs from the recorded one');
}

async function blockOf(
  packed: Buffer,
  place: WantedBlock,
  size: number,
  damagedError: (what: string) => Error,
): Promise<Uint8Array<ArrayBuffer>> {
  // With chunks of more than a block, a block is decompressed by one call of a thread. With a full chunk
  // there would be a second call, for nothing.
  const chunkSize = Math.max(size + 1, CHUNK_BYTES_MIN);
  const raw =
    place.length === size
      ? packed
      : await decompress(packed, { maxOutputLength: size, chunkSize }).catch(() => {
          throw damagedError(`block ${place.index} cannot be decompressed`);
        });
  const bytes = raw as Uint8Array<ArrayBuffer>;
  if (bytes.length !== size || !sha256OfBlock(bytes).equals(place.sha256))
    throw damagedError(`block ${place.index} is damaged`);
  return bytes;
}
