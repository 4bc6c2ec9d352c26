import type { UtcMs } from '../lib/time.ts';
import type { StageStatus, WorkgroupStatus } from '../pipeline/workgroup-status.ts';

/**
 * Computes the current lag of the stages of a workgroup. The written lag is from the last success, so the
 * time since then is added while a stage fails.
 * @returns the poll with its lag, and the largest lag of the stages; undefined if unknown
 */
export function withLag(
  { poll, rollup, publish, troubles = [] }: WorkgroupStatus,
  nowMs: UtcMs,
): { poll: WorkgroupStatus['poll']; lagSeconds: number | undefined } {
  const behindMs = (stage: StageStatus, name: 'poll' | 'rollup' | 'publish'): number | undefined => {
    const trouble = troubles.find(
      (one) => one.stage === name || one.stage === 'open' || one.stage === 'queue',
    );
    if (!stage.lastError && !trouble) return undefined;
    const sinceMs =
      stage.lastSuccessAtMs ?? trouble?.sinceMs ?? stage.failingSinceMs ?? stage.lastError?.atMs;
    return sinceMs === undefined ? undefined : Math.max(0, nowMs - sinceMs);
  };
  const pollMs = behindMs(poll, 'poll');
  const own =
    pollMs === undefined
      ? poll
      : // The number of messages since then is unknown.
        {
          ...poll,
          lagMessages: poll.lagMessages || undefined,
          lagSeconds: (poll.lagSeconds ?? 0) + Math.round(pollMs / 1000),
        };
  const later = [behindMs(rollup, 'rollup'), behindMs(publish, 'publish')];
  const known = [own.lagSeconds, ...later.map((ms) => ms && Math.round(ms / 1000))].filter(
    (one) => one !== undefined,
  );
  return { poll: own, lagSeconds: known.length > 0 ? Math.max(...known) : undefined };
}
