import { expect, test } from 'vitest';
import type { ShardHealth, WorkerHealth } from '../../jobs/worker-health.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { tellTroubles } from '../../src/service/tell-troubles.ts';
import { createTestClock } from '../support/test-clock.ts';

const ROUND_MS = 2_000;

/** A worker with the workgroups "home" and "plant". What is told and logged is kept. */
function setUp() {
  const clock = createTestClock();
  const open = (workgroupId: string): ShardHealth => ({
    workgroupId,
    state: 'owned',
    error: null,
    failingSinceMs: null,
    stages: [],
  });
  const worker: WorkerHealth = {
    workerId: 'w',
    backend: 'redis',
    live: true,
    healthy: true,
    startedAtMs: clock.now(),
    isStarting: false,
    lastRoundAtMs: clock.now(),
    isCutOff: false,
    shards: [open('home'), open('plant')],
  };
  const told: Array<[workgroupId: string, ...stages: string[]]> = [];
  const logged: string[] = [];
  const note =
    (level: string) =>
    ({ workgroup, stage }: { workgroup?: string; stage?: string }) =>
      logged.push(`${level} ${workgroup} ${stage}`);
  const stop = tellTroubles({
    health: () => worker,
    status: {
      note(workgroupId: string, { troubles }: { troubles?: Array<{ workgroupId?: string; stage: string }> }) {
        expect(troubles!.every((one) => one.workgroupId === workgroupId)).toBe(true);
        told.push([workgroupId, ...troubles!.map(({ stage }) => stage)]);
      },
    } as unknown as Parameters<typeof tellTroubles>[0]['status'],
    clock,
    startTimer: clock.startTimer,
    logger: { ...silentLogger, error: note('error'), warn: note('warn') } as typeof silentLogger,
  });
  /** What was told and logged since the last call. */
  const news = () => ({ told: told.splice(0), logged: logged.splice(0) });
  const [home, plant] = worker.shards as [ShardHealth, ShardHealth];
  const closed = { state: 'waiting', error: 'the file is damaged', failingSinceMs: clock.now() } as const;
  return { clock, worker, home, plant, closed, news, stop };
}

test('a trouble of a workgroup is told at once and logged once, and so is its end', async () => {
  const { clock, home, closed, news } = setUp();
  await clock.advance(ROUND_MS);
  expect(news()).toEqual({ told: [['home'], ['plant']], logged: [] });
  const healthy = { ...home };
  Object.assign(home, closed);
  await clock.advance(ROUND_MS);
  expect(news()).toEqual({ told: [['home', 'open']], logged: ['error home open'] });
  await clock.advance(ROUND_MS);
  expect(news()).toEqual({ told: [], logged: [] });
  Object.assign(home, healthy);
  await clock.advance(ROUND_MS);
  expect(news()).toEqual({ told: [['home']], logged: ['warn home open'] });
  await clock.advance(ROUND_MS);
  expect(news().logged).toEqual([]);
});

test('a trouble of the whole worker is told for each of its workgroups, and logged once', async () => {
  const { clock, worker, home, closed, news } = setUp();
  worker.isCutOff = true;
  Object.assign(home, closed);
  await clock.advance(ROUND_MS);
  expect(news()).toEqual({
    told: [
      ['home', 'queue', 'open'],
      ['plant', 'queue'],
    ],
    logged: ['error undefined queue', 'error home open'],
  });
});

test('what has not changed is told again after 10 s, because a status that is not renewed is old', async () => {
  const { clock, news } = setUp();
  await clock.advance(ROUND_MS);
  news();
  await clock.advance(4 * ROUND_MS);
  expect(news().told).toEqual([]);
  await clock.advance(ROUND_MS);
  expect(news().told).toEqual([['home'], ['plant']]);
});

test.each(['elsewhere', 'hibernated'] as const)(
  'nothing is told of a workgroup that is %s, and it is told at once when it is back',
  async (state) => {
    const { clock, plant, news } = setUp();
    await clock.advance(ROUND_MS);
    news();
    plant.state = state;
    await clock.advance(3 * ROUND_MS);
    expect(news().told).toEqual([]);
    plant.state = 'owned';
    await clock.advance(ROUND_MS);
    expect(news().told).toEqual([['plant']]);
  },
);

test('nothing is told after the end', async () => {
  const { clock, news, stop } = setUp();
  stop();
  await clock.advance(10 * ROUND_MS);
  expect(news().told).toEqual([]);
});
