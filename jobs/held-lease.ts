import type { SteadyClock, UtcMs } from '../src/lib/time.ts';
import type { Leases } from './leases.ts';

/**
 * The time for which a lease is certainly ours, by our own clock. This needs no store, so it also answers
 * while the store cannot be reached.
 */
export interface HeldLease {
  /** False after it has run out or was released. Another worker can have it then. */
  isValid(): boolean;
  /** True if it was not renewed in time, for example because the process was stopped for a while. */
  hasRunOut(): boolean;
  /** True as soon as a lease that cannot be renewed is given up. */
  runsOutSoon(): boolean;
  /** Notes a renewal that was asked for at this time. A lease that is released stays released. */
  noteRenewal(askedAtMs: UtcMs): void;
  /** From now on it is not ours, and must not be renewed. */
  noteRelease(): void;
  isReleased(): boolean;
}

/** @param takenAtMs when the store was asked for it */
export function createHeldLease(
  takenAtMs: UtcMs,
  { leaseMs, canRunOut }: Pick<Leases, 'leaseMs' | 'canRunOut'>,
  clock: SteadyClock,
): HeldLease {
  const marginMs = leaseMs / 5;
  let untilMs = takenAtMs + leaseMs;
  let isReleased = false;
  const hasRunOut = () => !isReleased && canRunOut && clock.now() >= untilMs;
  return {
    isValid: () => !isReleased && !hasRunOut(),
    hasRunOut,
    runsOutSoon: () => !isReleased && clock.now() >= untilMs - marginMs,
    noteRenewal(askedAtMs) {
      untilMs = askedAtMs + leaseMs;
    },
    noteRelease() {
      isReleased = true;
    },
    isReleased: () => isReleased,
  };
}
