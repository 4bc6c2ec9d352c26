import type { NextBatches } from './bind-settings.ts';
import type { Restatement } from './bind-streams.ts';

/** What one call computes. */
export type Work = Batches & {
  /** True if devices wait for a later call (table `pending_change`). */
  hasWaiting: boolean;
  /** True if messages of the lake are read again. */
  hasArchived: boolean;
  /** True if there are corrections. */
  hasCorrections: boolean;
  /** True if series are set aside. */
  hasSetAside: boolean;
} & (
    | {
        /**
         * - `new`: the readings of new batches; devices that wait continue to wait
         * - `waiting`: some of the devices that wait, as if their readings had just arrived; no batch is read
         */
        kind: 'new' | 'waiting';
        restatement: undefined;
      }
    | {
        /** Everything, because settings have changed: new readings, stored readings, devices that wait. */
        kind: 'all';
        /** What has changed. */
        restatement: Restatement;
      }
  );

/** The batches that one call reads. */
interface Batches {
  /** The batches after this one, up to and including `batchId`. Without new batches, both are the same. */
  afterBatchId: bigint;
  batchId: bigint;
  /** The newest batch of the warehouse. */
  newestId: bigint;
  /** Readings of later batches are new. */
  arrivedAfterId: bigint;
  /** Number of batches. */
  batches: number;
  /** Number of messages in the batches. */
  messages: number;
}

/**
 * Decides what a call computes. New batches and devices that wait take turns, so that the other devices do
 * not wait. If settings have changed, everything is computed at once.
 * @param options.prefersNew new batches come before devices that wait
 */
export function planWork(
  next: NextBatches,
  restatement: Restatement | undefined,
  { prefersNew }: { prefersNew: boolean },
): Work {
  const has = {
    hasWaiting: next.has_pending,
    hasArchived: next.archived,
    hasCorrections: next.corrections > 0n,
    hasSetAside: next.set_aside > 0n,
  };
  const batches = newBatches(next);
  if (restatement !== undefined) return { kind: 'all', restatement, ...has, ...batches };
  if (!has.hasWaiting || (prefersNew && batches.messages > 0))
    return { kind: 'new', restatement, ...has, ...batches };
  return { kind: 'waiting', restatement, ...has, ...noBatches(batches) };
}

function newBatches(next: NextBatches): Batches {
  const newestId = next.newest_id ?? -1n;
  return {
    afterBatchId: next.all_taken_id ?? -1n,
    batchId: next.batch_id ?? newestId,
    newestId,
    arrivedAfterId: next.any_taken_id ?? -1n,
    batches: Number(next.batches),
    messages: Number(next.messages ?? 0n),
  };
}

function noBatches({ afterBatchId, newestId }: Batches): Batches {
  return {
    afterBatchId,
    batchId: afterBatchId,
    newestId,
    // The readings of devices that wait came with earlier batches, and count as new.
    arrivedAfterId: -1n,
    batches: 0,
    messages: 0,
  };
}
