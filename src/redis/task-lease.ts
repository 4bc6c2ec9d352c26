import { type Clock, elapsedOf, SECOND_MS } from '../lib/time.ts';

/** The right to run a task, which one of several processes has. */
export interface TaskLease {
  /**
   * Takes the right, or keeps it. To be called before each run.
   * @returns true if this process has it now
   * @throws if it cannot be known now which process has it
   */
  acquireOrRenew(): Promise<boolean>;
  release(): Promise<void>;
}

/** After this time another process takes over from a process that has ended. */
const ASK_EVERY_MS = 10 * SECOND_MS;

/**
 * A lease that is kept until the process ends.
 * @param take returns a function that gives the lease up; undefined while another process has it
 */
export function createLastingLease(
  take: () => Promise<(() => Promise<void>) | undefined>,
  clock: Clock,
): TaskLease {
  let release: (() => Promise<void>) | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return {
    async acquireOrRenew() {
      if (release !== undefined || elapsedOf(clock) - askedAtMs < ASK_EVERY_MS) return release !== undefined;
      askedAtMs = elapsedOf(clock);
      release = await take();
      return release !== undefined;
    },
    async release() {
      await release?.();
      release = undefined;
    },
  };
}
