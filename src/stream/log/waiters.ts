import type { Offset } from '../../contract/offset.ts';

/** Readers that wait for new messages. */
interface Waiters {
  /** Resolves if a message at or after `position` is stored, `wakeAll` is called or the signal aborts. */
  wait(position: Offset, signal: AbortSignal): Promise<void>;
  /** Wakes the readers that wait for this offset or an earlier one. */
  wake(lastOffset: Offset): void;
  wakeAll(): void;
  readonly size: number;
}

export function createWaiters(): Waiters {
  const waiting = new Set<{ position: Offset; finish: () => void }>();
  return {
    wait(position, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', finish);
          resolve();
        };
        const waiter = { position, finish };
        waiting.add(waiter);
        signal.addEventListener('abort', finish, { once: true });
      });
    },
    wake(lastOffset) {
      for (const waiter of waiting) if (waiter.position <= lastOffset) waiter.finish();
    },
    wakeAll() {
      for (const waiter of waiting) waiter.finish();
    },
    get size() {
      return waiting.size;
    },
  };
}
