import { SECOND_MS, type SteadyClock, type UtcMs } from '../src/lib/time.ts';

/** The start of a worker: until the shards that had something to do are open. */
export interface WorkerStartup {
  readonly startedAtMs: UtcMs;
  /** All closed shards were assessed once, and those with something to do were asked for. */
  noteAssessed(): void;
  /** No more shards are asked for. */
  noteNothingWanted(): void;
  isStarting(): boolean;
}

/**
 * After this time a worker counts as started. Shards that are still queued are opened by a request at once.
 */
const STARTING_MS_MAX = 8 * SECOND_MS;

/** @param isAnyWanted true while a shard that was asked for is not open */
export function createWorkerStartup(clock: SteadyClock, isAnyWanted: () => boolean): WorkerStartup {
  const startedAtMs = clock.now();
  let state: 'assessing' | 'opening' | 'started' = 'assessing';

  function noteNothingWanted(): void {
    if (state === 'opening') state = 'started';
  }

  return {
    startedAtMs,
    noteAssessed() {
      if (state === 'assessing') state = 'opening';
      if (!isAnyWanted()) noteNothingWanted();
    },
    noteNothingWanted,
    isStarting() {
      const isLate = clock.now() - startedAtMs >= STARTING_MS_MAX;
      return state === 'assessing' || (state === 'opening' && !isLate);
    },
  };
}
