import { nextCronInstant, parseCron } from '../src/lib/cron.ts';
import { MINUTE_MS, type UtcMs } from '../src/lib/time.ts';
import type { JobQueue, StoredSchedule } from './job-queue.ts';
import type { JobSchedule } from './stages.ts';

/** A next job is repaired if it is overdue by more than this, or later than the pattern says by more. */
const TOLERANCE_MS = MINUTE_MS;

/** The changes, by the key of the schedule. */
interface ScheduleChanges {
  added: string[];
  changed: string[];
  /**
   * Schedules that existed, but had no next job at the right time. Either a job did not plan its successor,
   * or the clock was set.
   */
  repaired: string[];
  removed: string[];
}

/**
 * Makes the schedules of the queue the wanted ones. The queue may contain any others before. Repeated or
 * concurrent calls change nothing more, because a schedule has one key.
 */
export async function reconcileSchedules(
  queue: JobQueue,
  wanted: readonly JobSchedule[],
  nowMs: UtcMs,
): Promise<ScheduleChanges> {
  const changes: ScheduleChanges = { added: [], changed: [], repaired: [], removed: [] };
  const present = new Map((await queue.schedules()).map((row) => [row.key, row]));
  for (const row of wanted) {
    const { key } = row;
    const schedule = present.get(key);
    present.delete(key);
    if (!schedule) changes.added.push(key);
    else if (schedule.pattern !== row.pattern || schedule.timeZone !== row.timeZone)
      changes.changed.push(key);
    else if (!isOnTime(schedule, row, nowMs)) changes.repaired.push(key);
    else continue;
    // This also moves the next job. Its id is made of the key and its instant. If the clock was set back, a
    // finished job can have this id. Then the queue refuses a new schedule, but it moves an existing one.
    await queue.schedule(row);
  }
  for (const key of present.keys()) {
    await queue.unschedule(key);
    changes.removed.push(key);
  }
  return changes;
}

/** True if the next job is at the next instant of the pattern, or is due and may still wait for a worker. */
function isOnTime({ nextAtMs }: StoredSchedule, { pattern, timeZone }: JobSchedule, nowMs: UtcMs): boolean {
  if (nextAtMs === undefined || nextAtMs < nowMs - TOLERANCE_MS) return false;
  const cron = parseCron(pattern);
  const nextMs = typeof cron === 'string' ? undefined : nextCronInstant(cron, timeZone, nowMs);
  return nextMs === undefined || nextAtMs <= nextMs + TOLERANCE_MS;
}
