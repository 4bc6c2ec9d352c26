import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../lib/errors.ts';
import type { WarehouseOwner } from './find-owner.ts';

/** How far later stages are. */
export interface Stages {
  rolledUpBatchId: number;
  publishedBatchId: number;
}

const POLL_MS = 200;
/** A service that gets no further within this is not waited for any longer. */
const STUCK_MS = 5 * 60_000;

/**
 * Rolls up and publishes what has landed, or waits until the service has.
 * @throws TransientError where the service was started anew or does not get on; nothing is lost by that
 */
export async function settle(
  first: Stages,
  lastBatchId: number,
  {
    owner,
    signal,
    state,
    onProgress,
  }: {
    owner: WarehouseOwner;
    signal: AbortSignal;
    state(): Promise<({ kind: 'ended' } & Stages) | { kind: 'idle' | 'running' }>;
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
        'everything has landed, but the service does not roll it up; see "wattline status"',
      );
    }
    before = now;
    if (!(await owner.followUp())) await sleep(POLL_MS);
    const next = await state();
    if (next.kind !== 'ended') {
      throw new TransientError('ServiceEnded', 'the service was started anew; it rolls up what has landed');
    }
    stages = next;
  }
}

/** Ids of batches of an import follow one upon another, far above those before. */
function partOf(batchId: number, firstId: number, lastBatchId: number): number {
  const ofImport = Math.floor(lastBatchId / 1e9) * 1e9;
  const first = Math.max(firstId, ofImport);
  return Math.min(1, batchId <= first ? 0 : (batchId - first) / Math.max(1, lastBatchId - first));
}
