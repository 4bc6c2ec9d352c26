import type { Offset } from '../../contract/offset.ts';

/** Readers that have everything and wait for more. */
export interface Waiters {
  /** Resolves when a message at or after `position` is there, all are woken, or the signal aborts. */
  wait(position: Offset, signal: AbortSignal): Promise<void>;
  /** Wakes those who wait for this offset or an earlier one. */
  wake(lastOffset: Offset): void;
  wakeAll(): void;
  readonly size: number;
}

export function createWaiters(): Waiters {
  const waiting = new Set<{ position: Offset; done: () => void }>();
  return {
    wait(position, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const waiter = { position, done };
        waiting.add(waiter);
        signal.addEventListener('abort', done, { once: true });
      });
    },
    wake(lastOffset) {
      for (const waiter of waiting) if (waiter.position <= lastOffset) waiter.done();
    },
    wakeAll() {
      for (const waiter of waiting) waiter.done();
    },
    get size() {
      return waiting.size;
    },
  };
}
