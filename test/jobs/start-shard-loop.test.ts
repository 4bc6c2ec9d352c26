import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type StageName, type StageWork, stageNames } from '../../jobs/stages.ts';
import { type LossReason, startShardLoop } from '../../jobs/start-shard-loop.ts';
import { StaleOwnerError, TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { steadyClockOf } from '../../src/lib/time.ts';
import { createTestClock, type TestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

function setUp(
  run: Partial<StageWork>,
  options: {
    onLost?: (reason: LossReason) => void;
    maxPeriodMs?: number;
    minPeriodMs?: number;
    isBrief?: boolean;
    stageNames?: readonly StageName[];
    /** Default: the time of the platform. */
    time?: TestClock;
  } = {},
) {
  const { onLost = () => {}, maxPeriodMs = 200, minPeriodMs = 10, isBrief = false } = options;
  const { stageNames = ['poll', 'rollup', 'publish'], time } = options;
  const clock = { isSteady: true as const, aheadMs: 0, now: () => performance.now() + clock.aheadMs };
  const idle = async () => undefined;
  const shard = startShardLoop({
    workgroupId: 'a',
    paces: stageNames.map((stage) => ({ stage, minPeriodMs, maxPeriodMs })),
    stages: { poll: idle, rollup: idle, publish: idle, maintain: idle, commit: idle, export: idle, ...run },
    clock: time ? steadyClockOf(time) : clock,
    logger: silentLogger,
    isBrief,
    onLost,
    ...(time && { startTimer: time.startTimer }),
  });
  const healthOf = (name: StageName) => shard.health().find(({ stage }) => stage === name)!;
  const end = async () => expect(await shard.stop(5_000)).toBe('stopped');
  return { clock, shard, healthOf, end };
}

/** Stages that count their runs. */
function counting() {
  const runs = { poll: 0, rollup: 0, publish: 0, maintain: 0, commit: 0, export: 0 };
  const count = (stage: StageName) => async () => {
    runs[stage] += 1;
  };
  const stages = {
    poll: count('poll'),
    rollup: count('rollup'),
    publish: count('publish'),
    maintain: count('maintain'),
    commit: count('commit'),
    export: count('export'),
  };
  return { runs, stages };
}

test('roll-up and publish of a shard never run at once, but a poll can run beside them', {
  tags: ['slow'],
}, async () => {
  const running = new Set<StageName>();
  const together: string[] = [];
  const stage = (name: StageName, ms: number) => async () => {
    running.add(name);
    together.push([...running].toSorted().join('+'));
    await sleep(ms);
    running.delete(name);
  };
  const { end } = setUp({
    poll: stage('poll', 700),
    rollup: stage('rollup', 70),
    publish: stage('publish', 70),
  });
  await until('each ran a few times', () => together.length > 12);
  await end();
  expect(together.filter((names) => names.includes('publish') && names.includes('rollup'))).toEqual([]);
  expect(together).toContain('poll+rollup');
  expect(together).toContain('poll+publish');
});

test.each([
  [new StaleOwnerError('a', 1n, 2n), 'stale-owner'],
  [new TransientError('ShardNotOpen', 'the warehouse of a is not open'), 'shard-ended'],
  [Object.assign(new Error('from another thread'), { code: 'PipelineEnded' }), 'shard-ended'],
])('a shard is lost once a stage finds that %s', async (error, reason) => {
  const losses: LossReason[] = [];
  const { end } = setUp({ poll: () => Promise.reject(error) }, { onLost: (loss) => losses.push(loss) });
  await until('the loss is noticed', () => losses.length > 0);
  expect(losses[0]).toBe(reason);
  await end();
});

test('a stage that fails does not hold the others up, and keeps the shard from being idle', {
  tags: ['slow'],
}, async () => {
  let rollups = 0;
  const { shard, healthOf, end } = setUp({
    poll: () => Promise.reject(new TransientError('Away', 'no')),
    rollup: async () => {
      rollups += 1;
    },
  });
  await until('the roll-up ran on', () => rollups > 4);
  expect(healthOf('poll')).toMatchObject({ state: 'failing', lastError: { message: 'no' } });
  expect(healthOf('rollup').state).toBe('ok');
  expect(shard.idleMs()).toBe(0);
  await end();
});

test('news is polled, what has landed is rolled up, and what is rolled up is published, long before it is due', async () => {
  const { runs, stages } = counting();
  const { shard, end } = setUp(stages, { maxPeriodMs: 3_600_000 });
  await until('all ran at the beginning', () => shard.idleMs() > 0);
  const before = { ...runs };
  shard.noteNews();
  await until('it was polled', () => runs.poll > before.poll);
  expect(runs.rollup).toBe(before.rollup);
  shard.noteChange();
  await until('it was published', () => runs.publish > before.publish);
  expect(runs.rollup).toBe(before.rollup + 1);
  await end();
});

test('the first roll-up begins when the first messages have landed, although more are read, and the next one not before its time', async () => {
  const time = createTestClock();
  const landed = Promise.withResolvers<void>();
  const seen: string[] = [];
  const { shard, end } = setUp(
    {
      async poll(_, signal) {
        await landed.promise;
        seen.push('landed');
        shard.noteChange();
        await sleep(3_600_000, undefined, { signal });
      },
      rollup: async () => void seen.push('rolled up'),
      publish: async () => void seen.push('published'),
    },
    { minPeriodMs: 3_600_000, maxPeriodMs: 3_600_000, time },
  );
  await time.advance(100);
  expect(seen).toEqual([]);
  landed.resolve();
  await time.advance(0);
  expect(seen).toEqual(['landed', 'rolled up', 'published']);
  await time.advance(600_000);
  expect(seen).toHaveLength(3);
  await end();
});

test('the first commit begins after the first publication', async () => {
  const first = Promise.withResolvers<void>();
  const seen: string[] = [];
  const { end } = setUp(
    {
      async publish() {
        await first.promise;
        seen.push('published');
      },
      commit: async () => void seen.push('committed'),
    },
    { maxPeriodMs: 50, stageNames: ['poll', 'rollup', 'publish', 'commit'] },
  );
  await sleep(300);
  expect(seen).toEqual([]);
  first.resolve();
  await until('it was committed', () => seen.includes('committed'));
  expect(seen[0]).toBe('published');
  await end();
});

test('a stream that does not answer delays the first roll-up for some seconds only', async () => {
  const time = createTestClock();
  const { runs, stages } = counting();
  const poll: StageWork['poll'] = (_, signal) => sleep(3_600_000, undefined, { signal });
  const { end } = setUp({ ...stages, poll }, { time });
  await time.advance(1_000);
  expect(runs.rollup).toBe(0);
  await time.advance(9_000);
  expect(runs.rollup).toBeGreaterThan(0);
  await end();
});

test.each(['poll', 'commit', 'export'] as const)(
  'a run of %s that hangs delays no other stage',
  async (hanging) => {
    const time = createTestClock();
    const { runs, stages } = counting();
    const hang: StageWork[StageName] = (_, signal) => sleep(3_600_000, undefined, { signal });
    const { healthOf, end } = setUp({ ...stages, [hanging]: hang }, { time, stageNames });
    await time.advance(10_000);
    expect(healthOf(hanging).runningSinceMs).not.toBeNull();
    const others = stageNames.filter((stage) => stage !== hanging);
    const before = { ...runs };
    await time.advance(10_000);
    expect(others.filter((stage) => runs[stage] === before[stage])).toEqual([]);
    await end();
  },
);

test('lost news is found by the run that nobody asked for', async () => {
  const { runs, stages } = counting();
  const { end } = setUp(stages, { maxPeriodMs: 100 });
  await until('it was polled without news', () => runs.poll > 3);
  await end();
});

test('a stage that has more to do runs again without being asked', async () => {
  let polls = 0;
  const { end } = setUp({ poll: async () => ({ more: ++polls < 4 }) }, { maxPeriodMs: 3_600_000 });
  await until('it has done everything', () => polls === 4);
  await end();
});

test('a stage that failed runs again after a while without being asked', async () => {
  const time = createTestClock();
  let polls = 0;
  const poll = async () => {
    polls += 1;
    if (polls === 1) throw new TransientError('Away', 'no');
  };
  const { healthOf, end } = setUp({ poll }, { time, maxPeriodMs: 3_600_000 });
  await time.advance(500);
  expect(polls).toBe(1);
  await time.advance(10_000);
  expect(polls).toBe(2);
  expect(healthOf('poll').state).toBe('ok');
  await end();
});

test('a stage runs again after the time that it asks for', async () => {
  let publishes = 0;
  const { end } = setUp(
    { publish: async () => ({ againInMs: ++publishes < 4 ? 50 : undefined }) },
    { maxPeriodMs: 3_600_000 },
  );
  await until('it was published again', () => publishes >= 4);
  await end();
});

test('the time that a stage asks for begins with its last run, and ends with the shard', async () => {
  const time = createTestClock();
  let publishes = 0;
  const { shard, end } = setUp(
    {
      publish: async () => {
        publishes += 1;
        return { againInMs: 60_000 };
      },
    },
    { maxPeriodMs: 3_600_000, time },
  );
  await time.advance(30_000);
  const first = publishes;
  shard.noteDue('publish');
  await time.advance(59_000);
  expect(publishes).toBe(first + 1);
  await time.advance(2_000);
  expect(publishes).toBe(first + 2);
  await end();
  expect(time.timersPending).toBe(0);
});

test('a shard is idle since its last news or use, and one that was opened for a job as soon as its stages have run', async () => {
  const { shard, clock, end } = setUp({}, { maxPeriodMs: 3_600_000 });
  await until('all stages have run', () => shard.idleMs() > 0);
  clock.aheadMs += 60_000;
  expect(shard.idleMs()).toBeGreaterThanOrEqual(60_000);
  shard.noteUse();
  expect(shard.idleMs()).toBeLessThan(60_000);
  shard.noteNews();
  expect(shard.idleMs()).toBe(0);
  await end();

  const brief = setUp({}, { maxPeriodMs: 3_600_000, isBrief: true });
  await until('it is idle', () => brief.shard.idleMs() === Number.POSITIVE_INFINITY);
  await brief.end();
});

test('a shard catches up by rolling up and publishing once, and does not if there is news meanwhile', async () => {
  const { runs, stages } = counting();
  const { shard, end } = setUp(
    {
      ...stages,
      async publish() {
        runs.publish += 1;
        if (runs.publish === before.publish + 2) shard.noteNews();
      },
    },
    { maxPeriodMs: 3_600_000, minPeriodMs: 3_600_000 },
  );
  await until('all ran', () => runs.poll > 0 && runs.publish > 0 && runs.rollup > 0);
  const before = { ...runs };
  expect(await shard.catchUp()).toBe(true);
  expect(runs).toMatchObject({ rollup: before.rollup + 1, publish: before.publish + 1 });
  expect(await shard.catchUp()).toBe(false);
  await end();
});

test('a shard has not caught up while a stage fails, or a roll-up leaves a part of its work to its next run', async () => {
  let outcome: 'more' | 'fails' | 'done' = 'done';
  let published = 0;
  const { shard, end } = setUp(
    {
      async rollup() {
        if (outcome === 'fails') throw new Error('it fails');
        return { more: outcome === 'more' };
      },
      publish: async () => void published++,
    },
    { maxPeriodMs: 3_600_000, minPeriodMs: 3_600_000 },
  );
  await until('all ran', () => published > 0);
  outcome = 'more';
  expect(await shard.catchUp()).toBe(false);
  outcome = 'done';
  expect(await shard.catchUp()).toBe(true);
  outcome = 'fails';
  expect(await shard.catchUp()).toBe(false);
  await end();
});

test('a shard that catches up during a roll-up rolls up again, because that one may have begun before the newest messages landed', async () => {
  const rollup = Promise.withResolvers<void>();
  const seen: string[] = [];
  const { shard, end } = setUp(
    {
      async rollup() {
        seen.push('rolling up');
        await rollup.promise;
      },
      publish: async () => void seen.push('published'),
    },
    { maxPeriodMs: 3_600_000, minPeriodMs: 3_600_000 },
  );
  await until('it rolls up', () => seen.at(-1) === 'rolling up');
  const before = seen.length;
  const caughtUp = shard.catchUp();
  rollup.resolve();
  expect(await caughtUp).toBe(true);
  expect(seen.slice(before).filter((one) => one === 'rolling up')).toHaveLength(1);
  expect(seen.at(-1)).toBe('published');
  await end();
});

test('runs that stop coming are seen', async () => {
  const { runs, stages } = counting();
  const { clock, healthOf, end } = setUp(stages, { maxPeriodMs: 3_600_000 });
  await until('it is polled', () => runs.poll > 0);
  clock.aheadMs = 6 * 3_600_000;
  expect(healthOf('poll').state).toBe('unscheduled');
  await end();
});

test('a roll-up within its time limit is no lack of runs of this stage or of the stages that wait for it', async () => {
  const rollup = Promise.withResolvers<void>();
  const { clock, healthOf, end } = setUp({ rollup: () => rollup.promise });
  await until('it rolls up', () => healthOf('rollup').runningSinceMs !== null);
  await until('the publication waits', () => healthOf('publish').lastTickAtMs !== null);
  clock.aheadMs = 9 * 60_000;
  expect(healthOf('rollup').state).toBe('ok');
  expect(healthOf('publish').state).toBe('late');
  clock.aheadMs = 11 * 60_000;
  expect(healthOf('rollup').state).toBe('stuck');
  rollup.resolve();
  await until('it has ended', () => healthOf('rollup').state === 'ok');
  await end();
});

test('a shard that stops aborts its stages, and abandons those that do not end', async () => {
  const heeding = setUp({ poll: (_, signal) => sleep(60_000, undefined, { signal }) });
  await until('it runs', () => heeding.healthOf('poll').runningSinceMs !== null);
  await heeding.end();
  const { promise, resolve } = Promise.withResolvers<void>();
  const heedless = setUp({ poll: () => promise });
  await until('it runs', () => heedless.healthOf('poll').runningSinceMs !== null);
  expect(await heedless.shard.stop(100)).toBe('abandoned');
  resolve();
});
