import type { z } from 'zod';
import { formatDuration } from '../lib/units.ts';

/** The retention of the stream must be at least this many times the time between commits. */
const COMMITS_MIN = 4;

/**
 * Refuses commits to the bucket that are too rare. After the loss of a machine, only the stream has the
 * messages since the last commit. A bucket that does not answer for a while must not lose them.
 * @param settings a setting that has another problem can be missing
 */
export function refuseLateCommits(
  {
    storage,
    stream,
  }: {
    storage?: { s3?: unknown; commitEvery?: number };
    stream?: { retention?: number };
  },
  context: z.RefinementCtx,
): void {
  const commitEveryMs = storage?.commitEvery;
  const retentionMs = stream?.retention;
  if (storage?.s3 === undefined || typeof commitEveryMs !== 'number' || typeof retentionMs !== 'number')
    return;
  if (commitEveryMs * COMMITS_MIN <= retentionMs) return;
  context.addIssue({
    code: 'custom',
    path: ['storage', 'commitEvery'],
    message: `must be at most a quarter of stream.retention (${formatDuration(retentionMs)}), because after the loss of a machine only the stream has the messages since the last commit; write ${formatDuration(Math.floor(retentionMs / COMMITS_MIN))} or less, or a longer stream.retention`,
  });
}
