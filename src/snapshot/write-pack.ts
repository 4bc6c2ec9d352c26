import { createHash, webcrypto } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { constants } from 'node:zlib';
import type { FrozenFile } from '../warehouse/frozen-file.ts';
import {
  type BlockPlace,
  blockCount,
  blockRange,
  compress,
  encodeMap,
  MAGIC,
  type PackMap,
  type PackObject,
} from './pack-format.ts';

export interface WritePackOptions {
  /** The name of the object that the pack becomes. */
  key: string;
  /** The file that is written. It must not exist. */
  path: string;
  /** The map of the pack before. Without it the pack has all blocks. */
  previous: PackMap | undefined;
}

export interface WrittenPack extends PackObject {
  map: PackMap;
  /** The blocks that are in this pack, of `map.blocks.length`. */
  blocksWritten: number;
}

const ZSTD_LEVEL = 3;
/** Blocks in memory at the same time. */
const BATCH = 8;

/**
 * Writes the blocks that have changed since the pack before, and the map of all blocks. Hashing and compression run in the threads of Node, so the
 * event loop stays free. Memory does not depend on the size of the file.
 */
export async function writePack(
  source: FrozenFile,
  { key, path, previous }: WritePackOptions,
): Promise<WrittenPack> {
  await using file = await open(path, 'wx');
  const output = createOutput(file);
  await output.write(MAGIC);
  const own: PackObject = { key, bytes: 0, sha256: '' };
  const packs = createPackList(own, previous);
  const blocks: BlockPlace[] = [];
  const count = blockCount(source.bytes);
  let blocksWritten = 0;
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    const batch = await readBatch(source, from, size);
    const places = await Promise.all(
      batch.map(async (bytes, at) => {
        const sha256 = Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes));
        const before = previous?.blocks[from + at];
        // The head of a file is small and always changes. In its own pack a pack can be told from that of another file.
        if (before?.sha256.equals(sha256) && from + at > 0) return { kept: before, sha256 };
        const packed = await compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
        return { stored: packed.length < bytes.length ? packed : bytes, sha256 };
      }),
    );
    for (const { kept, stored, sha256 } of places) {
      if (kept) blocks.push({ ...kept, pack: packs.indexOf(kept.pack), sha256 });
      else {
        blocks.push({ pack: 0, offset: output.bytes(), length: stored.length, sha256 });
        await output.write(stored);
        blocksWritten++;
      }
    }
  }
  const map: PackMap = { fileBytes: source.bytes, packs: packs.list, blocks };
  await output.write(await encodeMap(map, output.bytes()));
  await file.sync();
  own.bytes = output.bytes();
  own.sha256 = output.sha256();
  return { ...own, map, blocksWritten };
}

async function readBatch(source: FrozenFile, from: number, size: number): Promise<Buffer<ArrayBuffer>[]> {
  const first = blockRange(from, source.bytes);
  const last = blockRange(from + size - 1, source.bytes);
  const all = Buffer.alloc(last.start + last.length - first.start);
  await source.read(all, first.start);
  return Array.from({ length: size }, (_, at) => {
    const { start, length } = blockRange(from + at, source.bytes);
    return all.subarray(start - first.start, start - first.start + length);
  });
}

/** The packs of the new map: itself, and the packs before that still have a block. */
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
  };
}

function createOutput(file: FileHandle) {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(part: Uint8Array): Promise<void> {
      hash.update(part);
      bytes += part.length;
      for (let written = 0; written < part.length; )
        written += (await file.write(part, written, part.length - written)).bytesWritten;
    },
    bytes: () => bytes,
    sha256: () => hash.digest('hex'),
  };
}
