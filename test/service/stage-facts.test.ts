import { expect, test } from 'vitest';
import { createStageProgress, type StageHealth } from '../../jobs/stage-health.ts';
import type { ShardHealth } from '../../jobs/worker-health.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { stageFacts } from '../../src/service/stage-facts.ts';

const nowMs = 1_800_000_000_000;
const shard: Omit<ShardHealth, 'workgroupId'> = {
  state: 'owned',
  error: null,
  failingSinceMs: null,
  stages: [],
};

/** A stage that runs once a minute, and has just succeeded. */
function stage(members: Partial<StageHealth> = {}): StageHealth {
  const clock = { isSteady: true as const, now: () => nowMs };
  const paces = [{ stage: 'publish' as const, maxPeriodMs: MINUTE_MS }];
  const [health] = createStageProgress(paces, { clock, timeLimitMs: () => MINUTE_MS }).health();
  return { ...health!, openedAtMs: nowMs - 10 * MINUTE_MS, lastSuccessAtMs: nowMs, ...members };
}

const lastError = { atMs: nowMs, code: 'Away', message: 'the store is away', retryable: true };
const unexplained = 'it has not succeeded; see "wattline status"';

test.each<[about: string, health: Partial<StageHealth>, fact: object]>([
  [
    'has just succeeded fails in a minute',
    {},
    { failingMs: -MINUTE_MS, why: unexplained, isAtWork: false, hasSucceeded: true },
  ],
  [
    'has not succeeded for two of its periods has failed for one',
    { lastSuccessAtMs: nowMs - 2 * MINUTE_MS },
    { failingMs: MINUTE_MS, hasSucceeded: true },
  ],
  [
    'has never succeeded was due when the workgroup was opened',
    { lastSuccessAtMs: null },
    { failingMs: 9 * MINUTE_MS, hasSucceeded: false },
  ],
  [
    'fails says why, and is not at work, although it runs again',
    { failures: 1, lastError, runningSinceMs: nowMs },
    { why: 'the store is away', isAtWork: false, hasSucceeded: false },
  ],
  [
    'has succeeded since its last error does not repeat it',
    { lastError },
    { why: unexplained, hasSucceeded: true },
  ],
  ['runs is at work', { runningSinceMs: nowMs - SECOND_MS }, { isAtWork: true }],
  [
    'runs and does not end is not at work',
    { state: 'stuck', runningSinceMs: nowMs - SECOND_MS },
    { isAtWork: false },
  ],
])('a stage that %s', (_, health, fact) => {
  expect(stageFacts({ ...shard, stages: [stage(health)] }, nowMs)).toMatchObject([
    { stage: 'publish', ...fact },
  ]);
});

test('a stage that waits for another one of its lane is at work', () => {
  const running = stage({ stage: 'rollup', runningSinceMs: nowMs });
  const facts = stageFacts({ ...shard, stages: [running, stage(), stage({ stage: 'poll' })] }, nowMs);
  expect(facts!.map((fact) => [fact.stage, fact.isAtWork])).toEqual([
    ['rollup', true],
    ['publish', true],
    ['poll', false],
  ]);
});

test('of a workgroup that is not open, only the failure to open it is known', () => {
  expect(stageFacts({ ...shard, state: 'opening' }, nowMs)).toBeUndefined();
  const failing = {
    ...shard,
    state: 'waiting' as const,
    error: 'the file is damaged',
    failingSinceMs: nowMs - 5_000,
  };
  const [open, ...others] = stageFacts(failing, nowMs)!;
  expect(open).toMatchObject({
    stage: 'open',
    failingMs: 5_000,
    why: 'the data cannot be opened: the file is damaged',
    hasSucceeded: false,
  });
  expect(others.map((fact) => fact.stage)).toContain('rollup');
  for (const fact of others)
    expect(fact).toMatchObject({ failingMs: 0, isAtWork: false, hasSucceeded: false });
});
