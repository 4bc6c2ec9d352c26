/** Wakes everything that waits for a change. */
export interface ChangeSignal {
  wake(): void;
  /**
   * Waits for a change, for an abort, or until the time is over. An abort is thrown by the next call.
   * @param untilMs a time of `performance.now()`
   * @returns false if the time was over before the call
   */
  wait(untilMs: number, signal: AbortSignal | undefined): Promise<boolean>;
}

export function createChangeSignal(): ChangeSignal {
  let changed = Promise.withResolvers<void>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    wake,
    async wait(untilMs, signal) {
      signal?.throwIfAborted();
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return false;
      const timer = setTimeout(wake, leftMs);
      signal?.addEventListener('abort', wake, { once: true });
      await changed.promise;
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      return true;
    },
  };
}
