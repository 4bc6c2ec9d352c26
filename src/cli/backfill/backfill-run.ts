import { setTimeout as sleep } from 'node:timers/promises';
import type { BackfillRequest } from '../../backfill/backfill-request.ts';
import type { BackfillOutcome, BackfillProgress } from '../../backfill/run-backfill.ts';
import { TransientError } from '../../lib/errors.ts';
import type { WarehouseOwner } from '../../service/open-owner.ts';
import { waitUntilPublished } from '../../service/wait-until-published.ts';
import type { AsJson } from '../../worker-rpc/rpc-wire.ts';

interface BackfillRunOptions {
  owner: WarehouseOwner;
  request: BackfillRequest;
  signal: AbortSignal;
  onProgress(progress: BackfillRunProgress): void;
}

export type BackfillRunProgress =
  | { kind: 'reading'; progress: AsJson<BackfillProgress> }
  /** Landed messages are being rolled up (`part` of them is) or published. */
  | { kind: 'after'; part: number };

const LOOK_EVERY_MS = 200;

/** Runs a backfill. Returns once its energy is rolled up and published. */
export async function superviseBackfill(options: BackfillRunOptions): Promise<AsJson<BackfillOutcome>> {
  const { owner, request, signal, onProgress } = options;
  const state = () => owner.ask('backfillState', undefined);
  const stop = () => void owner.ask('backfillStop', undefined).catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await owner.ask('backfillStart', { request });
    let now = await state();
    for (; now.kind === 'running'; now = await state()) {
      onProgress({ kind: 'reading', progress: now.progress });
      if (!(await owner.followUp())) await sleep(LOOK_EVERY_MS);
    }
    if (now.kind === 'idle') {
      throw new TransientError(
        'ServiceEnded',
        'the service was restarted; run the same command again to continue',
      );
    }
    const { outcome } = now;
    // Without new messages only the closed gap is published. A service does that by itself.
    if (outcome.messagesLanded === 0) await owner.followUp();
    else
      await waitUntilPublished(now, outcome.lastBatchId, {
        owner,
        signal,
        state,
        onProgress: (part) => onProgress({ kind: 'after', part }),
      });
    return outcome;
  } catch (error) {
    throw signal.aborted
      ? new TransientError('Interrupted', 'interrupted; run the same command again to continue')
      : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
