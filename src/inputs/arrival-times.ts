import { LRUCache } from 'lru-cache';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { InputOutcome } from './input-outcome.ts';

/** When a message arrived: the time of the clock, and the time that passes even if the clock is set. */
export interface MessageArrival {
  receivedAtMs: UtcMs;
  elapsedMs: number;
}

type Reading = Pick<Extract<InputOutcome, { kind: 'reading' }>, 'table' | 'item'>;

/** The maximum number of series with a remembered last arrival. */
const SERIES_KEPT_MAX = 10_000;
/** If the clock loses this much against the time that passes, it was set back. */
const SET_BACK_MS = SECOND_MS;

/**
 * Times of arrival that differ for the readings of one series, because two readings of one time would be one.
 * If the clock was set back, they continue at the time that it shows.
 */
export function createArrivalTimes(): (reading: Reading, arrival: MessageArrival) => UtcMs {
  const newest = new LRUCache<string, MessageArrival & { ms: UtcMs }>({ max: SERIES_KEPT_MAX });
  return ({ table, item }, { receivedAtMs, elapsedMs }) => {
    const series = JSON.stringify([table, item.device, item.source, ...Object.keys(item.data)]);
    const last = newest.get(series);
    const wasSetBack = last && elapsedMs - last.elapsedMs - (receivedAtMs - last.receivedAtMs) >= SET_BACK_MS;
    const ms = last && !wasSetBack ? Math.max(receivedAtMs, last.ms + 1) : receivedAtMs;
    newest.set(series, { receivedAtMs, elapsedMs, ms });
    return ms;
  };
}
