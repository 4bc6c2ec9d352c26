import type { Logger } from '../../lib/logger.ts';
import { type Clock, elapsedOf, SECOND_MS, type UtcMs } from '../../lib/time.ts';

/** The earliest store time that the retention of a log keeps, even if the system's clock was set. */
export interface RetentionFloor {
  /**
   * Messages with an earlier store time are older than the retention. The result can become lower when the
   * clock is set back. The function must also be called at each append, so that it notices each jump of the
   * clock before and after the append.
   */
  floorMs(): UtcMs;
}

/** Returns the floor of a log that is being opened. `newestMs`: see the options of `createRetentionFloor`. */
export type RetentionFrom = (newestMs: UtcMs | undefined) => RetentionFloor;

/**
 * If the clock moves by more than this beside the time that has passed, it was set. Smaller differences are
 * adjustments.
 */
const JUMP_MS = 5 * SECOND_MS;

/** A period in which the clock was not set. During it the clock showed `elapsed + aheadMs`. */
interface Span {
  fromElapsedMs: number;
  /** The time of the clock at the beginning. */
  startMs: UtcMs;
  /** Follows small adjustments. */
  aheadMs: number;
}

/**
 * Store times come from the system's clock, but the age of a message is the time that has passed since its
 * append. So the floor is the earliest time that the clock has shown within the retention:
 * - If the clock jumps forward, messages from before the jump keep their full retention.
 * - If the clock is set back, messages stay for longer, because new messages continue at the last store time.
 * - After a start nobody knows how much time has passed since the newest message, and the clock may be wrong.
 *   So the time is assumed to continue at the newest message for one retention.
 */
export function createRetentionFloor(options: {
  clock: Clock;
  retentionMs: number;
  /** The store time of the newest message. Undefined for an empty log. */
  newestMs: UtcMs | undefined;
  logger: Logger;
}): RetentionFloor {
  const { clock, retentionMs, newestMs, logger } = options;
  const startElapsedMs = elapsedOf(clock);
  const first: Span = {
    fromElapsedMs: Number.NEGATIVE_INFINITY,
    startMs: Number.NEGATIVE_INFINITY,
    aheadMs: Math.min(clock.now(), newestMs ?? Number.POSITIVE_INFINITY) - startElapsedMs,
  };
  let spans: Span[] = [first];
  let isStarting = true;

  /** Begins a new span if the clock was set. */
  const observe = (elapsedMs: number): void => {
    const aheadMs = clock.now() - elapsedMs;
    const last = spans.at(-1)!;
    const jumpMs = aheadMs - last.aheadMs;
    if (Math.abs(jumpMs) <= JUMP_MS) last.aheadMs = aheadMs;
    else {
      // At the start the difference is only the age of the newest message, and not a jump.
      if (!isStarting) logger.warn({ jumpMs: Math.round(jumpMs) }, 'stream.clock-was-set');
      spans.push({ fromElapsedMs: elapsedMs, startMs: elapsedMs + aheadMs, aheadMs });
    }
    isStarting = false;
  };
  observe(startElapsedMs);

  return {
    floorMs() {
      const elapsedMs = elapsedOf(clock);
      observe(elapsedMs);
      const sinceMs = elapsedMs - retentionMs;
      spans = spans.filter((_, index) => (spans[index + 1]?.fromElapsedMs ?? elapsedMs) > sinceMs);
      const floorMs = Math.min(
        ...spans.map(({ fromElapsedMs, startMs, aheadMs }) =>
          fromElapsedMs >= sinceMs ? startMs : sinceMs + aheadMs,
        ),
      );
      // The elapsed time can have fractions of a millisecond.
      return Math.floor(floorMs);
    },
  };
}
