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
