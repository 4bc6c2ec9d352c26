/** Runs one thing at a time, in the order in which they were asked for. */
export interface Turns {
  /**
   * @param signal of whoever asks; what waits for its turn is not begun once it aborts, and throws its reason
   * @returns undefined where too many are waiting already
   */
  take<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> | undefined;
}

/** @param waitingMax how many may wait for the one that runs */
export function createTurns(waitingMax: number): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let taken = 0;
  return {
    take(work, signal) {
      if (taken > waitingMax) return undefined;
      taken += 1;
      const turn = last
        .then(() => {
          signal.throwIfAborted();
          return work();
        })
        .finally(() => {
          taken -= 1;
        });
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}
