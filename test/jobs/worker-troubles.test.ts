import { describe, expect, test } from 'vitest';
import { createStageProgress, type StageHealth } from '../../jobs/stage-health.ts';
import type { StageName } from '../../jobs/stages.ts';
import type { ShardHealth, WorkerHealth } from '../../jobs/worker-health.ts';
import { isBehind, troublesOf } from '../../jobs/worker-troubles.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';

const periodsMs: Readonly<Partial<Record<StageName, number>>> = {
  poll: 1_000,
  rollup: 5_000,
  publish: 5_000,
  maintain: HOUR_MS,
};

function setUp(stages: readonly StageName[] = ['poll', 'rollup', 'publish', 'maintain']) {
  const clock = { isSteady: true as const, ms: 1_800_000_000_000, now: () => clock.ms };
  const paces = stages.map((stage) => ({
    stage,
    maxPeriodMs: periodsMs[stage] ?? MINUTE_MS,
    ...(stage === 'commit' && { lateAfterMs: 8 * MINUTE_MS }),
  }));
  const progress = createStageProgress(paces, { clock, timeLimitMs: () => 10 * MINUTE_MS });
  const startedAtMs = clock.ms;
  const health = (shard: Partial<ShardHealth> = {}, worker: Partial<WorkerHealth> = {}): WorkerHealth => ({
    workerId: 'w',
    backend: 'pglite',
    live: true,
    healthy: true,
    startedAtMs,
    isStarting: false,
    lastRoundAtMs: clock.ms,
    isCutOff: false,
    shards: [
      {
        workgroupId: 'home',
        state: 'owned',
        error: null,
        failingSinceMs: null,
        stages: progress.health(),
        ...shard,
      },
    ],
    ...worker,
  });
  /** Time passes. Every stage is called, and the stages that are not named here succeed. */
  function pass(ms: number, broken: Partial<Record<StageName, 'fails' | 'waits' | 'is never called'>> = {}) {
    for (const untilMs = clock.ms + ms; clock.ms < untilMs; ) {
      clock.ms += 1_000;
      for (const stage of stages) {
        const how = broken[stage];
        if (how === 'is never called') continue;
        progress.tick(stage)();
        if (how === 'waits' || progress.backOffMs(stage) > 0) continue;
        progress.noteStarted(stage);
        if (how === 'fails')
          progress.noteFailed(stage, new TransientError('Away', 'the server is away; start it'));
        else progress.noteSucceeded(stage);
      }
    }
  }
  const troubles = () => troublesOf(health(), clock.ms);
  return { clock, progress, health, pass, troubles };
}

describe('what keeps a workgroup from being worked on', () => {
  test('is nothing while all goes well, and nothing of what fails for moments', () => {
    const { pass, troubles } = setUp();
    pass(MINUTE_MS);
    expect(troubles()).toEqual([]);
    pass(2 * MINUTE_MS, { publish: 'fails' });
    expect(troubles()).toEqual([]);
  });

  test('is a stage that fails for minutes, with its own words, until it ends well once', () => {
    const { pass, troubles, clock } = setUp();
    pass(MINUTE_MS);
    pass(4 * MINUTE_MS, { publish: 'fails' });
    expect(troubles()).toEqual([
      {
        workgroupId: 'home',
        stage: 'publish',
        state: 'failing',
        sinceMs: clock.ms - 4 * MINUTE_MS + 1_000,
        message: expect.stringMatching(
          /^it has failed \d+ times since 2027-.*Z: the server is away; start it$/,
        ),
      },
    ]);
    // After the longest wait between two attempts.
    pass(MINUTE_MS + 1_000);
    expect(troubles()).toEqual([]);
  });

  test('is a bucket without a commit for half of the retention of the stream, even if the commit hangs', () => {
    const { pass, progress, troubles, clock } = setUp(['commit']);
    pass(MINUTE_MS);
    const sinceMs = clock.ms;
    progress.noteStarted('commit');
    pass(8 * MINUTE_MS - 1_000, { commit: 'waits' });
    expect(troubles()).toEqual([]);
    pass(1_000, { commit: 'waits' });
    expect(troubles()).toMatchObject([
      {
        stage: 'commit',
        state: 'late',
        sinceMs,
        message: expect.stringContaining('half of stream.retention'),
      },
    ]);
    progress.noteSucceeded('commit');
    expect(troubles()).toEqual([]);
  });

  test('is no single failure of a stage that is due each hour', () => {
    const { pass, progress, troubles } = setUp(['maintain']);
    pass(MINUTE_MS);
    progress.noteFailed('maintain', new Error('once'));
    pass(10 * MINUTE_MS, { maintain: 'waits' });
    expect(troubles()).toEqual([]);
  });

  test('is a stage that never ran although it is due, but not while another of its lane is at work', () => {
    const { pass, progress, troubles } = setUp();
    progress.noteStarted('rollup');
    pass(6 * MINUTE_MS, { publish: 'waits', rollup: 'waits' });
    expect(troubles()).toEqual([]);
    progress.noteSucceeded('rollup');
    expect(troubles()).toMatchObject([
      {
        stage: 'publish',
        state: 'late',
        message: 'it has never succeeded, and it is due every 5 s; see the log for the reason',
      },
    ]);
  });

  test('is a stage that does not begin any more', () => {
    const { pass, troubles } = setUp();
    pass(MINUTE_MS);
    pass(30_000, { rollup: 'is never called' });
    expect(troubles()).toMatchObject([
      {
        stage: 'rollup',
        state: 'unscheduled',
        message: expect.stringMatching(
          /last called at .* and it is due every 5 s: this process is overloaded or stopped/,
        ),
      },
    ]);
    pass(10_000);
    expect(troubles()).toEqual([]);
  });

  test('is a run that does not end when it is aborted', () => {
    const { pass, progress, troubles } = setUp();
    pass(MINUTE_MS);
    progress.noteStarted('poll');
    pass(11 * MINUTE_MS, { poll: 'waits' });
    expect(troubles()).toMatchObject([
      {
        stage: 'poll',
        state: 'stuck',
        message: expect.stringMatching(/did not end .* restart this process$/),
      },
    ]);
  });

  test('is data that cannot be opened, at once, but not data that another worker has', () => {
    const { clock, health } = setUp();
    const closed = { stages: [], error: 'it is no DuckDB file; move it away' };
    for (const state of ['waiting', 'opening'] as const) {
      expect(troublesOf(health({ ...closed, state, failingSinceMs: clock.ms }), clock.ms)).toMatchObject([
        {
          workgroupId: 'home',
          stage: 'open',
          state: 'not-open',
          message: expect.stringMatching(
            /^its data cannot be opened: it is no DuckDB file; move it away\. The worker tries again/,
          ),
        },
      ]);
    }
    expect(troublesOf(health({ ...closed, state: 'waiting', failingSinceMs: null }), clock.ms)).toEqual([]);
    expect(troublesOf(health({ stages: [], state: 'opening' }), clock.ms)).toEqual([]);
  });

  test('is a queue that cannot be reached', () => {
    const { clock, health } = setUp();
    expect(troublesOf(health({ stages: [] }, { isCutOff: true, backend: 'redis' }), clock.ms)).toMatchObject([
      { stage: 'queue', state: 'unreachable', message: expect.stringContaining('queue.redisUrl') },
    ]);
  });
});

describe('the limits of a stage, to the millisecond', () => {
  const NOW_MS = 1_800_000_000_000;
  const stageOf = (more: Partial<StageHealth>): StageHealth => ({
    stage: 'publish',
    state: 'ok',
    maxPeriodMs: 5_000,
    openedAtMs: 0,
    lastTickAtMs: NOW_MS,
    runningSinceMs: null,
    lastSuccessAtMs: NOW_MS,
    lastDurationMs: 1,
    failures: 0,
    failingSinceMs: null,
    lastError: null,
    retryAtMs: null,
    ...more,
  });
  const ago = (ms: number) => NOW_MS - ms;
  /** The problem of a stage, beside other stages of its shard. */
  const troubleOf = (stage: StageHealth, ...others: StageHealth[]) =>
    troublesOf(setUp().health({ stages: [stage, ...others] }), NOW_MS)[0]?.state;
  const running = (stage: StageName) => stageOf({ stage, runningSinceMs: ago(1) });

  test('it has failed if it fails for 3 minutes, and more than once', () => {
    const failing = (ms: number, failures: number) => stageOf({ failingSinceMs: ago(ms), failures });
    expect(troubleOf(failing(3 * MINUTE_MS, 2))).toBe('failing');
    expect(troubleOf(failing(3 * MINUTE_MS - 1, 2))).toBeUndefined();
    expect(troubleOf(failing(3 * MINUTE_MS, 1))).toBeUndefined();
  });

  test('it is late after 5 minutes without success, after 10 of its periods, or 30 minutes behind another one', () => {
    const since = (ms: number, more: Partial<StageHealth> = {}) =>
      stageOf({ lastSuccessAtMs: ago(ms), ...more });
    for (const [limitMs, more, others] of [
      [5 * MINUTE_MS, {}, []],
      [10 * MINUTE_MS, { maxPeriodMs: MINUTE_MS }, []],
      [30 * MINUTE_MS, {}, [running('rollup')]],
      [5 * MINUTE_MS, {}, [running('poll')]],
      [8 * MINUTE_MS, { lateAfterMs: 8 * MINUTE_MS, maxPeriodMs: HOUR_MS }, []],
    ] as const) {
      expect(troubleOf(since(limitMs, more), ...others)).toBe('late');
      expect(troubleOf(since(limitMs - 1, more), ...others)).toBeUndefined();
    }
    expect(troubleOf(since(HOUR_MS, { runningSinceMs: ago(1) }))).toBeUndefined();
  });

  test('it is behind a stage of its lane that is running, and not behind itself', () => {
    const publish = running('publish');
    expect(isBehind(publish, [publish])).toBe(false);
    expect(isBehind(publish, [publish, running('poll')])).toBe(false);
    expect(isBehind(publish, [publish, running('rollup')])).toBe(true);
  });
});
