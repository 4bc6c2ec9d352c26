import { expect, test } from 'vitest';
import type { OwnedShardState } from '../../jobs/owned-shards.ts';
import type { StageHealth } from '../../jobs/stage-health.ts';
import { describeWorker, type ShardState } from '../../jobs/worker-health.ts';

const LEASE_MS = 10_000;
const nowMs = 1_000_000;

const stage: StageHealth = {
  stage: 'poll',
  state: 'ok',
  maxPeriodMs: 1_000,
  openedAtMs: 1,
  lastTickAtMs: 2,
  runningSinceMs: null,
  lastSuccessAtMs: 3,
  lastDurationMs: 4,
  failures: 0,
  failingSinceMs: null,
  lastError: null,
  retryAtMs: null,
};

interface Given {
  state?: OwnedShardState;
  failingSinceMs?: number | null;
  stages?: StageHealth[];
  isAwakeElsewhere?: boolean;
  isQueued?: boolean;
  lastRoundAtMs?: number;
  wallLeadMs?: number;
}

/** A worker with one workgroup. */
function describe({ state = 'owned', failingSinceMs = null, stages = [], ...given }: Given) {
  return describeWorker(
    {
      backend: { workerId: 'w', kind: 'redis', leases: { leaseMs: LEASE_MS } } as never,
      ownedShards: {
        openLoops: () => (stages.length > 0 ? [{ workgroupId: 'home', health: () => stages }] : []),
        describe: () => ({ state, error: null, failingSinceMs }),
      } as never,
      workgroupIds: ['home'],
      isAwakeElsewhere: () => given.isAwakeElsewhere ?? false,
      isQueued: () => given.isQueued ?? false,
      isStarting: false,
    },
    {
      nowMs,
      wallLeadMs: given.wallLeadMs ?? 0,
      startedAtMs: nowMs - 60_000,
      lastRoundAtMs: given.lastRoundAtMs ?? nowMs,
    },
  );
}

test.each<[shown: ShardState, given: Given]>([
  ['owned', { state: 'owned', isQueued: true }],
  ['opening', { state: 'opening' }],
  ['waiting', { state: 'waiting', isAwakeElsewhere: true }],
  ['queued', { state: 'elsewhere', isQueued: true, isAwakeElsewhere: true }],
  ['elsewhere', { state: 'elsewhere', isAwakeElsewhere: true }],
  ['hibernated', { state: 'elsewhere' }],
])('a workgroup is shown as %s: %j', (shown, given) => {
  expect(describe(given).shards).toMatchObject([{ workgroupId: 'home', state: shown }]);
});

test.each<[about: string, given: Given, live: boolean, healthy: boolean]>([
  ['all stages succeed', { stages: [stage, stage] }, true, true],
  ['it has no open workgroup', { state: 'elsewhere' }, true, true],
  ['a stage fails', { stages: [stage, { ...stage, state: 'failing' }] }, true, false],
  ['a stage is late', { stages: [{ ...stage, state: 'late' }] }, true, false],
  ['a stage does not end', { stages: [{ ...stage, state: 'stuck' }] }, false, false],
  ['a stage is not called', { stages: [{ ...stage, state: 'unscheduled' }] }, false, false],
  ['a workgroup cannot be opened', { state: 'waiting' }, true, false],
  ['its last round is almost three leases ago', { lastRoundAtMs: nowMs - 3 * LEASE_MS + 1 }, true, true],
  ['its last round is three leases ago', { lastRoundAtMs: nowMs - 3 * LEASE_MS }, false, false],
])(
  'a worker is alive if it makes progress, and healthy if all of it succeeds: %s',
  (_, given, live, healthy) => {
    expect(describe(given)).toMatchObject({ live, healthy });
  },
);

test('instants are those of the clock of the machine, in whole milliseconds', () => {
  const failed: StageHealth = {
    ...stage,
    runningSinceMs: 5,
    failingSinceMs: 6,
    retryAtMs: 7,
    lastError: { atMs: 8, code: 'Away', message: 'away', retryable: true },
  };
  const described = describe({ wallLeadMs: 100.25, stages: [stage, failed], failingSinceMs: 9 });
  expect(described).toMatchObject({ startedAtMs: nowMs - 59_900, lastRoundAtMs: nowMs + 100 });
  expect(described.shards[0]).toMatchObject({
    failingSinceMs: 109,
    stages: [
      { openedAtMs: 101, lastTickAtMs: 102, lastSuccessAtMs: 103, runningSinceMs: null, lastDurationMs: 4 },
      { runningSinceMs: 105, failingSinceMs: 106, retryAtMs: 107, lastError: { atMs: 108 } },
    ],
  });
  expect(describe({}).shards[0]).toMatchObject({ failingSinceMs: null, stages: [] });
});
