import { MINUTE_MS, SECOND_MS, type UtcMs } from '../src/lib/time.ts';
import type { ScheduledRow, ShardQueue } from './shard-queue.ts';
import { type AnySchedule, isPeriodic, scheduleKey } from './stages.ts';

/** The changes, by the key of the schedule. */
export interface ScheduleChanges {
  added: string[];
  changed: string[];
  /** Present, but without a next tick in the future. */
  repaired: string[];
  removed: string[];
}

/**
 * Makes the schedules of a queue the wanted ones, whatever the queue contains. Repeated or concurrent calls change nothing more, because a schedule has
 * one key.
 */
export async function reconcileSchedules(
  queue: ShardQueue,
  wanted: readonly AnySchedule[],
  nowMs: UtcMs,
): Promise<ScheduleChanges> {
  const changes: ScheduleChanges = { added: [], changed: [], repaired: [], removed: [] };
  const present = new Map((await queue.schedules()).map((row) => [row.key, row]));
  for (const row of wanted) {
    const key = scheduleKey(row);
    const found = present.get(key);
    present.delete(key);
    if (!found) changes.added.push(key);
    else if (!isAsWanted(found, row)) changes.changed.push(key);
    else if (found.nextAtMs === undefined || found.nextAtMs < nowMs - overdueAfterMs(row))
      changes.repaired.push(key);
    else continue;
    await queue.schedule(row);
  }
  for (const key of present.keys()) {
    await queue.unschedule(key);
    changes.removed.push(key);
  }
  return changes;
}

function isAsWanted(found: ScheduledRow, row: AnySchedule): boolean {
  return isPeriodic(row)
    ? found.everyMs === row.everyMs
    : found.pattern === row.pattern && found.timeZone === row.timeZone;
}

function overdueAfterMs(row: AnySchedule): number {
  return isPeriodic(row) ? 2 * row.everyMs + SECOND_MS : MINUTE_MS;
}
