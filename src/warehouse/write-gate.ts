import { TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';

/** Lets writers run at the same time, and one exclusive call alone. */
interface WriteGate {
  /** Waits while an exclusive call runs. Call `leave` afterwards. */
  enter(): Promise<void>;
  leave(): void;
  /**
   * Waits until there is no writer, then runs `work`. New writers may enter while it waits. After `politeMs`
   * it holds them back.
   * @throws TransientError `WarehouseBusy` if writers are still there after `waitMs`, or if another exclusive
   *   call runs or waits; then `work` has not run
   */
  alone<Result>(
    work: () => Promise<Result>,
    options?: { politeMs?: number; waitMs?: number },
  ): Promise<Result>;
}

const POLITE_MS = 5 * SECOND_MS;
const ALONE_TIMEOUT_MS = 25 * SECOND_MS;

export function createWriteGate(): WriteGate {
  let writers = 0;
  /** Settles when writers may enter again. Undefined while they may. */
  let closed: PromiseWithResolvers<void> | undefined;
  /** The exclusive call that waits for the last writer to leave. */
  let whenFree: (() => void) | undefined;

  function close(): void {
    closed ??= Promise.withResolvers<void>();
  }

  function open(): void {
    closed?.resolve();
    closed = undefined;
  }

  async function free(politeMs: number, waitMs: number): Promise<void> {
    if (writers === 0) return close();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const holdBack = setTimeout(close, politeMs);
    const giveUp = setTimeout(reject, waitMs);
    // The gate is closed in the same moment, so no writer enters in between.
    whenFree = () => {
      close();
      resolve();
    };
    try {
      await promise;
    } catch {
      open();
      throw new TransientError('WarehouseBusy', 'a long change of the warehouse is running; try again later');
    } finally {
      clearTimeout(holdBack);
      clearTimeout(giveUp);
      whenFree = undefined;
    }
  }

  return {
    async enter() {
      while (closed !== undefined) await closed.promise;
      writers++;
    },
    leave() {
      writers--;
      if (writers === 0) whenFree?.();
    },
    async alone(work, { politeMs = POLITE_MS, waitMs = ALONE_TIMEOUT_MS } = {}) {
      if (whenFree !== undefined || (closed !== undefined && writers === 0))
        throw new TransientError(
          'WarehouseBusy',
          'another call needs the warehouse for itself; try again later',
        );
      await free(politeMs, waitMs);
      try {
        return await work();
      } finally {
        open();
      }
    },
  };
}
