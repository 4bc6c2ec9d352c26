import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';

export interface Rounds {
  /** Begins the next round now. */
  hurry(): void;
  /** Starts no more rounds. @returns when the running one has ended */
  stop(): Promise<void>;
}

/** Many workgroups can be released one after another. */
const ROUND_MS_MIN = 100;

/** Runs `round` again and again, `everyMs` apart. If several fail in a row, the first failure is logged. */
export function runRounds(
  round: () => Promise<void>,
  { everyMs, logger }: { everyMs: number; logger: Logger },
): Rounds {
  const stopping = new AbortController();
  let hurry = new AbortController();

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      hurry = new AbortController();
      try {
        await round();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) logger.warn({ error: errorMessage(error) }, 'worker.round-failed');
      }
      await pause(ROUND_MS_MIN, stopping.signal);
      await pause(everyMs - ROUND_MS_MIN, AbortSignal.any([stopping.signal, hurry.signal]));
    }
  }
  const running = run();

  return {
    hurry: () => hurry.abort(),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Waits until the time is over or the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { signal }).catch(() => undefined);
}
