import { offsetMs, parseOffset } from '../contract/offset.ts';
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { formatDuration } from '../lib/units.ts';
import type { Trouble } from './trouble.ts';
import type { WorkgroupStatus } from './workgroup-status.ts';

/**
 * A store time that is ahead by at most this is no trouble, because the clocks of two machines can differ.
 */
const AHEAD_MS_MAX = 5 * MINUTE_MS;

/**
 * The troubles of a log: one if the store time of its newest message is ahead of the clock. It lasts until
 * the clock has reached that time, because store times never go back. The list is empty if there is no
 * trouble, or if nothing was read.
 * @param workgroup nothing is found for a workgroup with an upstream, because only offsets of our own log
 *   contain a store time
 */
export function clockTroubles(
  { id: workgroupId, upstream }: { id: string; upstream?: unknown },
  { poll }: Pick<WorkgroupStatus, 'poll'>,
  nowMs: UtcMs,
): Trouble[] {
  const next = upstream === undefined ? parseOffset(poll.nextOffset ?? '') : undefined;
  if (next === undefined) return [];
  const aheadMs = offsetMs(next) - nowMs;
  if (aheadMs <= AHEAD_MS_MAX) return [];
  const message = [
    `the newest message has the store time ${formatInstant(offsetMs(next))}, which is ${roundedDuration(aheadMs)} ahead of the clock of this machine`,
    'If this clock is wrong, set it',
    'Otherwise it was ahead when messages arrived, and new messages get this store time too until the clock is there',
    'docs/troubleshooting.md says under "The clock" how to begin a new log',
  ].join('. ');
  return [{ workgroupId, stage: 'store', state: 'failing', sinceMs: nowMs, message }];
}

/** A duration in whole minutes, hours or days, such as 90m. */
function roundedDuration(ms: number): string {
  const unitMs = ms < 2 * HOUR_MS ? MINUTE_MS : ms < 2 * DAY_MS ? HOUR_MS : DAY_MS;
  return formatDuration(Math.round(ms / unitMs) * unitMs);
}
