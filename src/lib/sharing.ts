import { raceAbort } from './race-abort.ts';

/** Concurrent requests with the same key share one computation. */
export interface Sharing {
  /**
   * @param key requests with the same key get the same answer or the same error
   * @param work makes the answer; its signal aborts when no caller waits any more
   * @throws the reason of this caller's signal if it aborts; the other callers continue to wait
   */
  take<Answer>(
    key: string,
    work: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer>;
}

interface Shared {
  answer: Promise<unknown>;
  waiting: number;
  stop: AbortController;
}

export function createSharing(): Sharing {
  const underWay = new Map<string, Shared>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<unknown>): Shared {
    const stop = new AbortController();
    const shared: Shared = { answer: work(stop.signal), waiting: 0, stop };
    underWay.set(key, shared);
    const forget = () => {
      if (underWay.get(key) === shared) underWay.delete(key);
    };
    shared.answer.then(forget, forget);
    stop.signal.addEventListener('abort', forget);
    return shared;
  }

  return {
    async take<Answer>(
      key: string,
      work: (signal: AbortSignal) => Promise<Answer>,
      signal: AbortSignal,
    ): Promise<Answer> {
      signal.throwIfAborted();
      const shared = underWay.get(key) ?? begin(key, work);
      shared.waiting += 1;
      try {
        return (await raceAbort(shared.answer, signal)) as Answer;
      } finally {
        shared.waiting -= 1;
        if (shared.waiting === 0) shared.stop.abort();
      }
    },
  };
}
