import { join } from 'node:path';
import { isThere } from '../lib/is-there.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { writeAnalytics } from './analytics.ts';
import { isLakeComplete } from './is-lake-complete.ts';
import { readCurrent } from './lake-commit.ts';
import { analyticsPath, type LakePaths } from './lake-layout.ts';
import { openLake } from './open-lake.ts';
import type { PublishableShard } from './publishable-shard.ts';
import { pointCurrent } from './trees.ts';

/** The pause between two looks at a lake whose files are being copied from the bucket. */
const INCOMPLETE_DUE_MS = 2 * SECOND_MS;

export interface RenewOptions {
  lakeDir: string;
  /** `current` and `analytics/` follow the newest generation at most once in this time. Default: a minute. */
  currentEveryMs?: number;
  /** True to renew at once, as before a shard closes. */
  isFinal?: boolean;
  /** Called before a renewal. It can create a generation, and the renewal shows that one. */
  prepare?: () => Promise<unknown>;
  clock: Clock;
}

interface RenewResult {
  /** When `current` must be renewed, from now (ms). Undefined if it shows the newest generation. */
  dueInMs: number | undefined;
}

/**
 * Makes `current` and `analytics/` show the newest generation, if the last renewal is long enough ago.
 * Reports do not need it, because they read commits. If it returns a time, call it again then. Perhaps no
 * later publication comes, so the caller must do it.
 * @throws as openLake does
 */
export async function renewCurrent(shard: PublishableShard, options: RenewOptions): Promise<RenewResult> {
  const { clock, currentEveryMs = MINUTE_MS, isFinal = false } = options;
  const before = await openLake(shard, options);
  // The views and the folder for people need all files.
  if (before.head && !isLakeComplete(before.paths)) return { dueInMs: INCOMPLETE_DUE_MS };
  if (!before.head || (await isCurrent(before.paths, before.head.sequence))) return { dueInMs: undefined };
  const { renewedAtMs } = before.trees;
  if (renewedAtMs !== undefined && !isFinal) {
    const elapsedMs = clock.now() - renewedAtMs;
    // A clock that was set back must not delay the renewal.
    if (elapsedMs >= 0 && elapsedMs < currentEveryMs) return { dueInMs: currentEveryMs - elapsedMs };
  }
  await options.prepare?.();
  const { paths, head = before.head, trees } = await openLake(shard, options);
  const atMs = clock.now();
  if (!(await isThere(analyticsPath(paths, head.sequence)))) await writeAnalytics(shard, paths, head);
  await pointCurrent(paths, trees, head);
  trees.renewedAtMs = atMs;
  return { dueInMs: undefined };
}

async function isCurrent(paths: LakePaths, sequence: number): Promise<boolean> {
  if ((await readCurrent(paths)) !== sequence) return false;
  const files = [analyticsPath(paths, sequence), join(paths.current, 'analytics.duckdb')];
  return (await Promise.all(files.map(isThere))).every(Boolean);
}
