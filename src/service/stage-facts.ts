import { stageNames } from '../../jobs/stages.ts';
import type { ShardHealth } from '../../jobs/worker-health.ts';
import { isBehind } from '../../jobs/worker-troubles.ts';
import type { StageFact } from '../alerts/alert-facts.ts';
import type { UtcMs } from '../lib/time.ts';

/** What alerts know of the stages of a workgroup. Undefined while it is not open, and nothing has failed. */
export function stageFacts(
  { state, failingSinceMs, error, stages }: Omit<ShardHealth, 'workgroupId'>,
  nowMs: UtcMs,
): StageFact[] | undefined {
  if (state !== 'owned') {
    if (failingSinceMs === null) return undefined;
    const why = `the data cannot be opened: ${error}`;
    const unknown = { failingMs: 0, why: '', isAtWork: false, hasSucceeded: false };
    return [
      { stage: 'open', failingMs: nowMs - failingSinceMs, why, isAtWork: false, hasSucceeded: false },
      ...stageNames.map((stage) => ({ stage, ...unknown })),
    ];
  }
  return stages.map((health) => {
    const { stage, lastSuccessAtMs, openedAtMs, maxPeriodMs, runningSinceMs, failures, lastError } = health;
    return {
      stage,
      failingMs: nowMs - (lastSuccessAtMs ?? openedAtMs) - maxPeriodMs,
      why: lastError && failures > 0 ? lastError.message : 'it has not succeeded; see "wattline status"',
      isAtWork:
        failures === 0 && health.state !== 'stuck' && (runningSinceMs !== null || isBehind(health, stages)),
      hasSucceeded: failures === 0 && lastSuccessAtMs !== null,
    };
  });
}
