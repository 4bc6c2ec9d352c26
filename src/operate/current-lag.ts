import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StageStatus, WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import type { workgroupStates } from './status-schema.ts';

interface Lag {
  poll: WorkgroupStatus['poll'];
  /** The largest lag of the stages. Undefined if none is known. */
  lagSeconds?: number | undefined;
}

/**
 * Computes the current lag of a workgroup from the status that its worker wrote. The written lag of the poll
 * is from its last success, so the time since then is added while it fails. If no message waited then, the
 * number of messages that wait now is unknown.
 */
export function currentLag({ poll, rollup, publish, troubles = [] }: WorkgroupStatus, nowMs: UtcMs): Lag {
  const failingSeconds = (stage: StageStatus, name: 'poll' | 'rollup' | 'publish'): number | undefined => {
    const trouble = troubles.find(
      (one) => one.stage === name || one.stage === 'open' || one.stage === 'queue',
    );
    if (!stage.lastError && !trouble) return undefined;
    return secondsSince(
      stage.lastSuccessAtMs ?? trouble?.sinceMs ?? stage.failingSinceMs ?? stage.lastError?.atMs,
      nowMs,
    );
  };
  const pollSeconds = failingSeconds(poll, 'poll');
  const current = pollSeconds === undefined ? poll : whileFailing(poll, pollSeconds);
  const laterStages = [failingSeconds(rollup, 'rollup'), failingSeconds(publish, 'publish')];
  return { poll: current, lagSeconds: largestOf([current.lagSeconds, ...laterStages]) };
}

function whileFailing(poll: WorkgroupStatus['poll'], seconds: number): WorkgroupStatus['poll'] {
  return {
    ...poll,
    lagMessages: poll.lagMessages || undefined,
    lagSeconds: (poll.lagSeconds ?? 0) + seconds,
  };
}

/**
 * The lag of a workgroup whose worker does not report it now, by the messages that its stream still has.
 * @param messages undefined if the stream cannot be asked: a failing workgroup keeps its lag, and any other
 *   lag is unknown
 */
export function lagFromStream(
  { state, poll, lagSeconds }: Lag & { state: (typeof workgroupStates)[number] },
  messages: number | undefined,
  nowMs: UtcMs,
): Lag {
  const isFailing = state === 'failing';
  if (messages === undefined)
    return isFailing
      ? { poll, lagSeconds }
      : { poll: { ...poll, lagMessages: undefined, lagSeconds: undefined }, lagSeconds: undefined };
  const pollSeconds = messages === 0 ? 0 : secondsSince(poll.lastSuccessAtMs, nowMs);
  return {
    poll: { ...poll, lagMessages: messages, lagSeconds: pollSeconds },
    // Another stage can be further behind.
    lagSeconds: largestOf([pollSeconds, isFailing ? lagSeconds : undefined]),
  };
}

function secondsSince(sinceMs: UtcMs | undefined, nowMs: UtcMs): number | undefined {
  return sinceMs === undefined ? undefined : Math.round(Math.max(0, nowMs - sinceMs) / SECOND_MS);
}

function largestOf(lags: ReadonlyArray<number | undefined>): number | undefined {
  const known = lags.filter((lag) => lag !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}
