import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { Shard } from '../warehouse/shard.ts';
import { PACK_BYTES, type PackMap, type PackObject } from './pack-format.ts';
import { readPackMap } from './read-pack.ts';
import { writePack } from './write-pack.ts';

/** A snapshot as a commit names it: its newest pack, and the size of the warehouse file. */
export interface SnapshotRef {
  pack: string;
  bytes: number;
  sha256: string;
  fileBytes: number;
}

interface TakeSnapshotOptions {
  store: ObjectStore;
  /** The name of the new pack: `snapshots/<sequence>-<nonce>.pack`. */
  key: string;
  /** The newest snapshot of the store. Only changed blocks are stored if its packs are mostly in use. */
  previous: SnapshotRef | undefined;
  /** For the pack while it is written. It is on a disk with space for the compressed file. */
  stagingDir: string;
  /** See `writePack`. */
  partBytesMax?: number;
  logger: Logger;
  signal?: AbortSignal | undefined;
}

export interface TakenSnapshot extends SnapshotRef {
  /** The number of blocks of the file, and of the blocks that were stored this time. */
  blocks: number;
  blocksWritten: number;
}

/** A restore reads at most this many packs, without the parts of large ones. */
const PACKS_MAX = 24;
/** A restore reads at most twice the bytes that it needs. */
const LIVE_SHARE_MIN = 0.5;

/**
 * Packs the open warehouse and puts the pack into a store. Landing continues. If this is interrupted, the
 * store has at most a pack that no commit names.
 * @throws TransientError if the warehouse is busy for long, or is closed meanwhile; TerminalError if the
 *   store refuses
 */
export async function takeSnapshot(
  shard: Pick<Shard, 'readFrozen' | 'workgroupId'>,
  { store, key, previous, stagingDir, partBytesMax, logger, signal }: TakeSnapshotOptions,
): Promise<TakenSnapshot> {
  const startMs = performance.now();
  const before = previous && (await reusableMap(store, previous, logger));
  await mkdir(stagingDir, { recursive: true });
  const staged: string[] = [];
  const newPath = () => {
    const path = join(stagingDir, `${randomUUID()}.pack`);
    staged.push(path);
    return path;
  };
  try {
    const { map, files, blocksWritten } = await shard.readFrozen((file) =>
      writePack(file, {
        key,
        newPath,
        previous: before,
        ...(partBytesMax !== undefined && { partBytesMax }),
        signal,
      }),
    );
    for (const { key: name, path, bytes, sha256 } of files) {
      await store.put(name, { path, bytes, sha256 }, signal);
      await rm(path);
    }
    const { bytes, sha256 } = files.at(-1)!;
    const taken = {
      pack: key,
      bytes,
      sha256,
      fileBytes: map.fileBytes,
      blocks: map.blocks.length,
      blocksWritten,
    };
    const durationMs = Math.round(performance.now() - startMs);
    logger.info(
      { workgroup: shard.workgroupId, ...taken, packs: map.packs.length, durationMs },
      'snapshot.taken',
    );
    return taken;
  } finally {
    for (const path of staged) await rm(path, { force: true });
  }
}

/**
 * The names of all packs that a restore of this snapshot reads. The others can be deleted if no other
 * snapshot needs them.
 */
export async function packsOf(
  store: ObjectStore,
  snapshot: SnapshotRef,
  signal?: AbortSignal,
): Promise<PackObject[]> {
  const { fileBytes } = snapshot;
  return (await readPackMap(store, packObject(snapshot), { fileBytes, signal })).packs;
}

export function packObject({ pack, bytes, sha256 }: SnapshotRef): PackObject {
  return { key: pack, bytes, sha256 };
}

/** The map of the snapshot before. Undefined if the next pack has to be a full one. */
async function reusableMap(
  store: ObjectStore,
  previous: SnapshotRef,
  logger: Logger,
): Promise<PackMap | undefined> {
  try {
    const map = await readPackMap(store, packObject(previous), previous);
    return isWorthReferring(map) ? map : undefined;
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    // A full pack does not need the damaged packs.
    logger.warn({ pack: previous.pack, error: errorMessage(error) }, 'snapshot.previous-unreadable');
    return undefined;
  }
}

/** True if the next pack can refer to the blocks of these packs. Otherwise it has to be a full one. */
export function isWorthReferring({ packs, blocks }: PackMap): boolean {
  const allBytes = packs.reduce((sum, { bytes }) => sum + bytes, 0);
  const liveBytes = blocks.reduce((sum, { length }) => sum + length, 0);
  const packsMax = PACKS_MAX + Math.floor(allBytes / PACK_BYTES);
  return packs.length < packsMax && liveBytes >= allBytes * LIVE_SHARE_MIN;
}
