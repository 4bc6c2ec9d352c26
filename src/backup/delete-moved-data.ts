import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorMessage, ifMissing } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, DAY_MS, type UtcMs } from '../lib/time.ts';

/** Data that a restore or a takeover has moved away is kept for this time. */
const KEPT_MS = 7 * DAY_MS;
/**
 * After newer data was moved away, older data is kept for this time at most. Otherwise two machines that
 * take turns would fill their disks.
 */
const EARLIER_KEPT_MS = DAY_MS;

const MOVED = /\.before-restore-(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d)(?:\.wal)?(?:-\d+)?$/;

/** A free name next to `path` for data that is moved away. The name has the time. */
export function movedName(path: string, nowMs: UtcMs): string {
  const time = new Date(nowMs).toISOString().replaceAll(':', '').slice(0, 17);
  const movedPath = path.endsWith('.wal')
    ? `${path.slice(0, -'.wal'.length)}.before-restore-${time}.wal`
    : `${path}.before-restore-${time}`;
  let name = movedPath;
  for (let count = 2; existsSync(name); count++) name = `${movedPath}-${count}`;
  return name;
}

interface DeleteMovedDataOptions {
  workgroupId: string;
  warehousePath: string;
  /** The folder of the workgroup's lake. */
  root: string;
  clock: Clock;
  logger: Logger;
}

/**
 * Deletes moved data of a workgroup when its time is over. A failure is logged, and the next call tries
 * again.
 */
export async function deleteMovedData(options: DeleteMovedDataOptions): Promise<void> {
  const { workgroupId, warehousePath, root, clock, logger } = options;
  const moved = [...(await movedFrom(warehousePath)), ...(await movedFrom(root))];
  for (const { path, atMs } of moved) {
    const newerAtMs = Math.min(...moved.map((other) => other.atMs).filter((other) => other > atMs));
    if (clock.now() <= Math.min(atMs + KEPT_MS, newerAtMs + EARLIER_KEPT_MS)) continue;
    try {
      await rm(path, { recursive: true, force: true });
      logger.info({ workgroup: workgroupId, path }, 'moved-data.deleted');
    } catch (error) {
      const facts = { workgroup: workgroupId, path, error: errorMessage(error) };
      logger.warn({ ...facts, next: 'delete it' }, 'moved-data.not-deleted');
    }
  }
}

async function movedFrom(path: string): Promise<{ path: string; atMs: UtcMs }[]> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(ifMissing([]));
  return names.flatMap((name) => {
    const [end, day, hour, minute, second] = MOVED.exec(name) ?? [];
    if (end === undefined || name !== basename(path) + end) return [];
    return { path: join(folder, name), atMs: Date.parse(`${day}${hour}:${minute}:${second}Z`) };
  });
}
