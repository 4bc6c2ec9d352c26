import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { constants } from 'node:zlib';
import type { FrozenFile } from '../warehouse/frozen-file.ts';
import {
  type BlockPlace,
  compress,
  encodeMap,
  MAGIC,
  PACK_BYTES,
  type PackMap,
  type PackObject,
} from './pack-format.ts';
import { readBlocks, sha256OfBlock } from './read-blocks.ts';

interface WritePackOptions {
  /** The name of the object that the pack becomes. Its parts have names that begin with it. */
  key: string;
  /** Returns a path for the next file of the pack. The caller deletes these files. */
  newPath: () => string;
  /** The map of the pack before. Without it the pack has all blocks. */
  previous: PackMap | undefined;
  /** A file that has this many bytes becomes a part, and another file begins. Default: 1 GiB. */
  partBytesMax?: number;
  signal?: AbortSignal | undefined;
}

interface WrittenPack {
  map: PackMap;
  /**
   * All files, in the order in which they have to be stored. The last one is the pack itself, which has the
   * map.
   */
  files: Array<PackObject & { path: string }>;
  /** The blocks that are in these files, of `map.blocks.length`. */
  blocksWritten: number;
}

const ZSTD_LEVEL = 3;

/**
 * Writes the blocks that have changed since the pack before, and the map of all blocks. Compression runs in
 * the threads of Node, and the event loop is free after a few blocks. Memory does not depend on the size of
 * the file.
 *
 * Many blocks are written as several files, because a store can refuse a large object: parts, which have
 * blocks only, and the pack with the map.
 */
export async function writePack(
  source: FrozenFile,
  { key, newPath, previous, partBytesMax = PACK_BYTES, signal }: WritePackOptions,
): Promise<WrittenPack> {
  const own: PackObject = { key, bytes: 0, sha256: '' };
  const packs = createPackList(own, previous);
  const blocks: BlockPlace[] = [];
  const files: WrittenPack['files'] = [];
  let output = await createOutput(newPath());
  try {
    let blocksWritten = 0;
    for await (const batch of readBlocks(source.bytes, source.read)) {
      signal?.throwIfAborted();
      if (output.bytes() >= partBytesMax) {
        const part = await output.finish(partKey(key, files.length + 1));
        packs.addPart(part, blocks);
        files.push(part);
        output = await createOutput(newPath());
      }
      const places = await Promise.all(
        batch.map(async ({ index, bytes }) => {
          const sha256 = sha256OfBlock(bytes);
          const before = previous?.blocks[index];
          if (before?.sha256.equals(sha256)) return { kept: before, sha256 };
          const packed = await compress(bytes, {
            params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
          });
          return { stored: packed.length < bytes.length ? packed : bytes, sha256 };
        }),
      );
      for (const { kept, stored, sha256 } of places) {
        if (kept) blocks.push({ ...kept, pack: packs.indexOf(kept.pack), sha256 });
        else {
          blocks.push({ pack: OWN, offset: output.bytes(), length: stored.length, sha256 });
          await output.write(stored);
          blocksWritten++;
        }
      }
    }
    const map: PackMap = { fileBytes: source.bytes, packs: packs.list, blocks };
    await output.write(await encodeMap(map, output.bytes()));
    const last = await output.finish(key);
    own.bytes = last.bytes;
    own.sha256 = last.sha256;
    return { map, files: [...files, last], blocksWritten };
  } finally {
    await output.close();
  }
}

/** The name of a part of a pack. */
function partKey(key: string, number: number): string {
  return key.replace(/\.pack$/, `-${number}.pack`);
}

/** The index of the pack that is written in its own map. */
const OWN = 0;

/** The packs of the new map: itself, its parts, and the packs before that still have a block. */
function createPackList(own: PackObject, previous: PackMap | undefined) {
  const list = [own];
  const known = new Map<number, number>();
  return {
    list,
    /** The index in the new map of a pack of the map before. */
    indexOf(before: number): number {
      const found = known.get(before);
      if (found !== undefined) return found;
      list.push(previous!.packs[before]!);
      known.set(before, list.length - 1);
      return list.length - 1;
    },
    /** Adds a part. The blocks that were written up to now are in it. */
    addPart({ key, bytes, sha256 }: PackObject, blocks: BlockPlace[]): void {
      list.push({ key, bytes, sha256 });
      for (const block of blocks) if (block.pack === OWN) block.pack = list.length - 1;
    },
  };
}

/** A file of a pack. It begins like a pack. */
async function createOutput(path: string) {
  const file = await open(path, 'wx');
  const hash = createHash('sha256');
  let bytes = 0;
  let isOpen = true;
  async function write(part: Uint8Array): Promise<void> {
    hash.update(part);
    bytes += part.length;
    for (let written = 0; written < part.length; )
      written += (await file.write(part, written, part.length - written)).bytesWritten;
  }
  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await file.close();
  }
  await write(MAGIC);
  return {
    write,
    bytes: () => bytes,
    /** Makes the file durable and closes it. */
    async finish(key: string): Promise<PackObject & { path: string }> {
      await file.sync();
      await close();
      return { key, path, bytes, sha256: hash.digest('hex') };
    },
    close,
  };
}
