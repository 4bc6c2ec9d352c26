/**
 * Runs an action once at a time. Calls during a run wait for the next run and share it. A run always begins
 * after its call.
 */
export function shareNextRun<Result>(action: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  /** The run that has not begun yet. */
  let following: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    running = action().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (following) return following;
    if (running === undefined) return start();
    following = running
      .catch(() => undefined)
      .then(() => {
        following = undefined;
        return start();
      });
    return following;
  };
}
