import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../lib/errors.ts';
import { MINUTE_MS } from '../lib/time.ts';
import type { WarehouseOwner } from './open-owner.ts';

/** The progress of later stages. */
interface StageProgress {
  rolledUpBatchId: number;
  publishedBatchId: number;
}

const LOOK_EVERY_MS = 200;
/** Waits no longer if a service makes no progress within this time. */
const STUCK_MS = 5 * MINUTE_MS;

/**
 * Rolls up and publishes landed messages, or waits until the service has done it.
 * @throws TransientError if the service was restarted or makes no progress; nothing is lost
 */
export async function waitUntilPublished(
  first: StageProgress,
  lastBatchId: number,
  {
    owner,
    signal,
    state,
    onProgress,
  }: {
    owner: WarehouseOwner;
    signal: AbortSignal;
    state(): Promise<({ kind: 'ended' } & StageProgress) | { kind: 'idle' | 'running' }>;
    onProgress(part: number): void;
  },
): Promise<void> {
  let movedAtMs = performance.now();
  let before = '';
  for (let stages = first; ; ) {
    const { rolledUpBatchId, publishedBatchId } = stages;
    if (publishedBatchId >= lastBatchId) return;
    signal.throwIfAborted();
    onProgress(partOf(rolledUpBatchId, first.rolledUpBatchId, lastBatchId));
    const now = `${rolledUpBatchId} ${publishedBatchId}`;
    if (now !== before) movedAtMs = performance.now();
    else if (performance.now() - movedAtMs > STUCK_MS) {
      throw new TransientError(
        'NotRolledUp',
        'all messages have landed, but the service does not roll them up; see "wattline status"',
      );
    }
    before = now;
    if (!(await owner.followUp())) await sleep(LOOK_EVERY_MS);
    const next = await state();
    if (next.kind !== 'ended') {
      throw new TransientError('ServiceEnded', 'the service was restarted; it rolls up the landed messages');
    }
    stages = next;
  }
}

/** Ids of batches of an import are consecutive, and far above earlier ids. */
function partOf(batchId: number, firstId: number, lastBatchId: number): number {
  const firstOfImport = Math.floor(lastBatchId / 1e9) * 1e9;
  const first = Math.max(firstId, firstOfImport);
  return Math.min(1, batchId <= first ? 0 : (batchId - first) / Math.max(1, lastBatchId - first));
}
