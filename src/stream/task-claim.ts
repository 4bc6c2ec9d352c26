import { type Clock, elapsedOf, SECOND_MS } from '../lib/time.ts';

/** The right to run a task, which one of several processes has. */
export interface TaskClaim {
  /** True if this process has the right now. To be called before each run. @throws if nobody can know it now */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** After this time another process takes over from a process that has ended. */
const ASK_EVERY_MS = 10 * SECOND_MS;

/**
 * A claim that is kept until the process ends.
 * @param hold returns a function that gives the claim up; undefined while another process has it
 */
export function createLastingClaim(
  hold: () => Promise<(() => Promise<void>) | undefined>,
  clock: Clock,
): TaskClaim {
  let release: (() => Promise<void>) | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return {
    async isHeld() {
      if (release !== undefined || elapsedOf(clock) - askedAtMs < ASK_EVERY_MS) return release !== undefined;
      askedAtMs = elapsedOf(clock);
      release = await hold();
      return release !== undefined;
    },
    async release() {
      await release?.();
      release = undefined;
    },
  };
}
