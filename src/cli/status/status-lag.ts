import type { UtcMs } from '../../lib/time.ts';
import type { StageStatus, WorkgroupStatus } from '../../pipeline/workgroup-status.ts';

/**
 * How far the stages of a workgroup are behind, as it is now. What was last written is of the last success: while a stage fails, what it
 * has not done since then is lag.
 * @returns the poll with its lag, and the largest lag of the stages; undefined where it is not known
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
      : // How many messages have come since then, nobody here knows.
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
