import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runStage } from '../../jobs/run-stage.ts';
import { createStageProgress } from '../../jobs/stage-health.ts';
import type { StageDefinition, StageRun, StageWork } from '../../jobs/stages.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { createForwardingLogger } from '../../src/lib/logger.ts';
import { steadyClockOf, systemClock } from '../../src/lib/time.ts';

function setUp(poll: (signal: AbortSignal) => Promise<unknown>, timeLimitMs = 60_000) {
  const idle = async () => undefined;
  const stages: StageWork = {
    poll: (_, signal) => poll(signal),
    rollup: idle,
    publish: idle,
    maintain: idle,
    commit: idle,
    export: idle,
  };
  const definition: StageDefinition = {
    stage: 'poll',
    lane: 'land',
    minPeriodMs: () => 1_000,
    maxPeriodMs: () => 1_000,
    timeLimitMs,
  };
  const progress = createStageProgress([{ stage: 'poll', maxPeriodMs: 1_000 }], {
    clock: steadyClockOf(systemClock),
    timeLimitMs: () => timeLimitMs,
  });
  const runs: StageRun[] = [];
  const events: unknown[] = [];
  const logger = createForwardingLogger((line) => events.push(JSON.parse(line)));
  const facts = { stages, workgroupId: 'a', progress, logger };
  const run = (signal: AbortSignal) =>
    runStage(definition, { ...facts, onEnded: (ended) => runs.push(ended) }, signal);
  return { run, runs, events, health: () => progress.health()[0]! };
}

test('a stage that takes longer than its time limit is aborted, and has failed', async () => {
  const { run, health } = setUp(async (signal) => {
    await sleep(60_000, undefined, { signal }).catch(() => {});
    throw signal.reason;
  }, 20);
  await expect(run(new AbortController().signal)).rejects.toMatchObject({
    code: 'TimeLimit',
    message: 'poll was stopped after 0.02 s',
  });
  expect(health()).toMatchObject({ state: 'failing', runningSinceMs: null });
});

test('a stage that ends because the worker stops was interrupted, and has not failed', async () => {
  const stop = new AbortController();
  const { run, runs, health } = setUp((signal) => sleep(60_000, undefined, { signal }));
  const ended = run(stop.signal);
  stop.abort();
  expect(await ended).toBeUndefined();
  expect(health()).toMatchObject({ state: 'ok', failures: 0, lastSuccessAtMs: null, runningSinceMs: null });
  expect(runs).toEqual([]);
});

test('a stage that ends in its time has succeeded, and its time limit no longer runs', async () => {
  const { run, health } = setUp(async () => 'result');
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  expect(await run(new AbortController().signal)).toBe('result');
  expect(timers()).toBe(before);
  expect(health()).toMatchObject({ state: 'ok', lastSuccessAtMs: expect.any(Number), runningSinceMs: null });
});

test('each run is reported with its duration and whether it has failed, and logged with what it has done', async () => {
  const outcomes = [
    async () => ({ counts: { messages: 3 }, nextOffset: 2n ** 60n }),
    () => Promise.reject(new Error('no')),
  ];
  const { run, runs, events } = setUp(() => outcomes.shift()!());
  await run(new AbortController().signal);
  await expect(run(new AbortController().signal)).rejects.toThrow('no');
  const facts = { stage: 'poll', durationMs: expect.any(Number) };
  expect(runs).toEqual([
    { workgroupId: 'a', ...facts, hasFailed: false },
    { workgroupId: 'a', ...facts, hasFailed: true },
  ]);
  expect(events).toEqual([
    {
      level: 'debug',
      msg: 'stage.done',
      workgroup: 'a',
      ...facts,
      messages: 3,
      nextOffset: '1152921504606846976',
    },
    expect.objectContaining({ msg: 'stage.failed', workgroup: 'a', ...facts }),
  ]);
});

test.each([
  ['a problem that can end by itself', new TransientError('Away', 'no'), { level: 'warn', retryable: true }],
  ['a bug', new Error('no'), { level: 'warn', retryable: true }],
  [
    'a problem that a person must solve',
    new TerminalError('Wrong', 'no'),
    { level: 'error', retryable: false },
  ],
])('%s is logged with its level, and whether a retry makes sense', async (_, error, expected) => {
  const { run, events } = setUp(() => Promise.reject(error));
  await expect(run(new AbortController().signal)).rejects.toBe(error);
  expect(events).toMatchObject([{ msg: 'stage.failed', ...expected }]);
});

test('the text of another program is logged beside our words for it, and our own text is logged once', async () => {
  const errors = [new Error('Out of Memory Error: failed to pin block'), new TransientError('Away', 'no')];
  const { run, events } = setUp(() => Promise.reject(errors.shift()));
  for (let count = 0; count < 2; count++) await expect(run(new AbortController().signal)).rejects.toThrow();
  const [foreign, own] = events as Array<Record<string, unknown>>;
  expect(foreign).toMatchObject({ raw: 'Out of Memory Error: failed to pin block' });
  expect(foreign!.error).not.toContain('pin block');
  expect(own).toMatchObject({ error: 'no' });
  expect(own).not.toHaveProperty('raw');
});

test('a stage does not begin after the worker was told to stop', async () => {
  let began = false;
  const { run } = setUp(async () => {
    began = true;
  });
  expect(await run(AbortSignal.abort())).toBeUndefined();
  expect(began).toBe(false);
});

test('a stage leaves no listener behind on the signal of its job', async () => {
  const { run } = setUp(async () => 'result');
  const signal = new AbortController().signal;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  };
  expect(await run(signal)).toBe('result');
  expect(listeners).toBe(0);
});
