import { growingWaitMs } from '../src/lib/growing-wait.ts';
import { MINUTE_MS, type SteadyClock, type UtcMs } from '../src/lib/time.ts';

/** A shard that could not be opened or was lost. Other workers may try it until `retryAtMs`. */
interface PostponedShard {
  /** Attempts in a row that did not open it. */
  attempts: number;
  retryAtMs: UtcMs;
  sinceMs: UtcMs;
  /** False if another worker has taken the shard, which is not a problem. */
  isFailure: boolean;
  error: string;
}

interface PostponedShards {
  /** Postpones a shard, longer after each attempt in a row. */
  add(workgroupId: string, error: string, about: { isFailure: boolean }): PostponedShard;
  find(workgroupId: string): PostponedShard | undefined;
  /**
   * Like `find`, but undefined for a shard that was not tried again in time, because it then belongs to
   * another worker.
   */
  findUnlessLapsed(workgroupId: string): PostponedShard | undefined;
  remove(workgroupId: string): void;
}

export function createPostponedShards(clock: SteadyClock, leaseMs: number): PostponedShards {
  const shards = new Map<string, PostponedShard>();
  return {
    add(workgroupId, error, { isFailure }) {
      const before = shards.get(workgroupId);
      const nowMs = clock.now();
      const attempts = (before?.attempts ?? 0) + 1;
      const waitMs = growingWaitMs(attempts, leaseMs, MINUTE_MS);
      const sinceMs = before?.isFailure ? before.sinceMs : nowMs;
      const postponed = { attempts, retryAtMs: nowMs + waitMs, sinceMs, isFailure, error };
      shards.set(workgroupId, postponed);
      return postponed;
    },
    find: (workgroupId) => shards.get(workgroupId),
    findUnlessLapsed(workgroupId) {
      const found = shards.get(workgroupId);
      return found && clock.now() <= found.retryAtMs + leaseMs ? found : undefined;
    },
    remove(workgroupId) {
      shards.delete(workgroupId);
    },
  };
}
