import { SECOND_MS, type UtcMs } from '../src/time.ts';
import type { ShardQueue } from './queue.ts';
import type { Schedule } from './stages.ts';

/** What had to be changed, by the key of the schedule. */
export interface ScheduleChanges {
  added: string[];
  changed: string[];
  /** Present, but its next tick is so long past that nothing will bring it back by itself. */
  repaired: string[];
  removed: string[];
}

/**
 * Makes the schedules of a queue those that are wanted, whatever it holds: nothing, an older configuration's, or a chain of
 * ticks that broke. Doing it again, or several at once, changes nothing more: a schedule has one key, so it is never doubled.
 */
export async function reconcileSchedules(
  queue: ShardQueue,
  wanted: readonly Schedule[],
  nowMs: UtcMs,
): Promise<ScheduleChanges> {
  const changes: ScheduleChanges = { added: [], changed: [], repaired: [], removed: [] };
  const present = new Map((await queue.schedules()).map((row) => [row.key, row]));
  for (const row of wanted) {
    const found = present.get(row.stage);
    present.delete(row.stage);
    if (!found) changes.added.push(row.stage);
    else if (found.everyMs !== row.everyMs) changes.changed.push(row.stage);
    else if (found.nextAtMs === undefined || found.nextAtMs < nowMs - overdueAfterMs(row))
      changes.repaired.push(row.stage);
    else continue;
    await queue.schedule(row);
  }
  for (const key of present.keys()) {
    await queue.unschedule(key);
    changes.removed.push(key);
  }
  return changes;
}

function overdueAfterMs({ everyMs }: Schedule): number {
  return 2 * everyMs + SECOND_MS;
}
