import { errorMessage, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { probeStore } from '../storage/probe-store.ts';

/** A bucket that does not answer must not delay the stream, so the start waits only this long. */
const START_MS = 10 * SECOND_MS;

export interface BucketProbe {
  /** Refuses an unsuitable bucket. A bucket that does not answer is only logged. @throws TerminalError */
  atStart(): Promise<void>;
  /** Probes the bucket if that has not succeeded yet. @throws TerminalError, TransientError */
  beforeUse(): Promise<void>;
}

/**
 * Checks that the configured bucket refuses to create a key twice, because only this keeps two workers from
 * owning one workgroup.
 */
export function createBucketProbe(store: ObjectStore | undefined, logger: Logger): BucketProbe {
  let isSuitable = store === undefined;
  let probing: Promise<void> | undefined;

  async function probe(signal: AbortSignal): Promise<void> {
    await probeStore(store!, signal);
    isSuitable = true;
  }

  /** Concurrent callers share one probe. */
  async function beforeUse(): Promise<void> {
    if (isSuitable) return;
    probing ??= probe(AbortSignal.timeout(START_MS)).finally(() => {
      probing = undefined;
    });
    await probing.catch((error: unknown) => {
      throw error instanceof Error && error.name === 'TimeoutError' ? silent(store!) : error;
    });
  }

  return {
    beforeUse,
    async atStart() {
      await beforeUse().catch((error: unknown) => {
        if (!(error instanceof TransientError)) throw error;
        logger.warn({ error: errorMessage(error) }, 'bucket.unreachable');
      });
    },
  };
}

function silent({ address }: ObjectStore): TransientError {
  return new TransientError(
    'StorageUnreachable',
    `${address} has not answered within ${START_MS / SECOND_MS} s; check the endpoint and the network`,
  );
}
