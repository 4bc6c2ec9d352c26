import { SECOND_MS, type SteadyClock } from '../src/lib/time.ts';
import type { OwnedShards } from './owned-shards.ts';

/** Bounds the number of open shards: idle shards hibernate, and if all are busy, they take turns. */
export interface ShardRoom {
  /** True if another shard may be opened. Otherwise the shard that was idle for longest closes. */
  hasRoom(): boolean;
  /** Lets shards hibernate that are idle for long enough. */
  hibernateIdleShards(): void;
  stop(): void;
}

interface ShardRoomOptions {
  ownedShards: OwnedShards;
  openMax: number;
  hibernateAfterMs: number;
  clock: SteadyClock;
  /** False for a shard that no news can wake. It stays open. */
  hasNews(workgroupId: string): boolean;
  /** A busy shard was closed. It must be opened again later. */
  onMadeRoom(workgroupId: string): void;
  /** There may be room now. */
  onRoom(): void;
}

/** A shard publishes its remaining changes before it hibernates, so only a few do it at the same time. */
const HIBERNATING_MAX = 4;
/** A busy shard stays open for this long before it makes room for another one. */
const TURN_MS = 15 * SECOND_MS;

export function createShardRoom(options: ShardRoomOptions): ShardRoom {
  const { ownedShards, openMax, hibernateAfterMs, clock, hasNews, onMadeRoom, onRoom } = options;
  const hibernating = new Set<string>();
  /** When each shard was first seen as open. */
  const openSinceMs = new Map<string, number>();
  let isStopped = false;

  /**
   * Shards that can hibernate. The shard that was idle for longest comes first. Busy shards come after the
   * idle ones, the oldest first.
   */
  const candidates = () =>
    ownedShards
      .openLoops()
      .filter(({ workgroupId }) => hasNews(workgroupId) && !hibernating.has(workgroupId))
      .toSorted((a, b) => b.idleMs() - a.idleMs());

  function hibernate(workgroupId: string, { isForced }: { isForced: boolean }): void {
    hibernating.add(workgroupId);
    void ownedShards
      .hibernate(workgroupId)
      .catch(() => false)
      .then(async (hibernates) => {
        if (hibernates || !isForced || isStopped) return;
        ownedShards.giveUp(workgroupId, 'makes-room');
        await ownedShards.settledLoop(workgroupId);
        onMadeRoom(workgroupId);
      })
      .finally(() => {
        hibernating.delete(workgroupId);
        onRoom();
      });
  }

  return {
    hasRoom() {
      if (ownedShards.remaining().length < openMax) return true;
      if (hibernating.size > 0) return false;
      const [first] = candidates();
      // True if nothing can wake the open shards. Such shards never make room.
      if (!first) return !ownedShards.openLoops().some(({ workgroupId }) => hasNews(workgroupId));
      const isIdle = first.idleMs() > 0;
      const turnEndsMs = (openSinceMs.get(first.workgroupId) ?? clock.now()) + TURN_MS;
      if (isIdle || clock.now() >= turnEndsMs) hibernate(first.workgroupId, { isForced: true });
      return false;
    },
    hibernateIdleShards() {
      const open = ownedShards.openLoops();
      const ids = new Set(open.map(({ workgroupId }) => workgroupId));
      for (const id of openSinceMs.keys()) if (!ids.has(id)) openSinceMs.delete(id);
      for (const id of ids) if (!openSinceMs.has(id)) openSinceMs.set(id, clock.now());
      for (const shard of candidates()) {
        if (hibernating.size >= HIBERNATING_MAX || shard.idleMs() < hibernateAfterMs) return;
        hibernate(shard.workgroupId, { isForced: false });
      }
    },
    stop() {
      isStopped = true;
    },
  };
}
