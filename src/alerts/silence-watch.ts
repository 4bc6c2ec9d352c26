import { type Clock, elapsedOf, type UtcMs } from '../lib/time.ts';

/**
 * Measures how long devices have sent nothing. After the first look it counts the time that passes, so a
 * clock that is set changes nothing.
 */
export function createSilenceWatch(clock: Clock) {
  let known = new Map<string, { lastSeenMs: UtcMs; heardAtMs: number }>();
  return {
    /** @param devices all devices of a workgroup with the time of their last data */
    look(devices: ReadonlyArray<{ device: string; lastSeenMs: UtcMs }>) {
      const [nowMs, elapsedMs] = [clock.now(), elapsedOf(clock)];
      const next: typeof known = new Map();
      const silences = devices.map(({ device, lastSeenMs }) => {
        const before = known.get(device);
        const heardAtMs =
          before === undefined
            ? elapsedMs - Math.max(0, nowMs - lastSeenMs)
            : before.lastSeenMs === lastSeenMs
              ? before.heardAtMs
              : elapsedMs;
        next.set(device, { lastSeenMs, heardAtMs });
        return { device, lastSeenMs, silentMs: elapsedMs - heardAtMs };
      });
      known = next;
      return silences;
    },
  };
}
