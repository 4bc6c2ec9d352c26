import { expect, test } from 'vitest';
import { createStageProgress } from '../../jobs/stage-health.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';

function setUp(maxPeriodMs = 1_000) {
  const clock = { isSteady: true as const, ms: 1_000_000, now: () => clock.ms };
  const paces = [{ stage: 'poll' as const, maxPeriodMs }];
  const progress = createStageProgress(paces, { clock, timeLimitMs: () => 30_000 });
  const health = () => progress.health()[0]!;
  /** Ticks that do nothing, so that only what a test is about changes. */
  const passMs = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.ms += Math.min(1_000, ms - passed);
      progress.tick('poll')();
    }
  };
  return { clock, progress, health, passMs };
}

test('a stage is ok before its first run and after each that succeeds', () => {
  const { clock, progress, health } = setUp();
  expect(health()).toMatchObject({ state: 'ok', lastSuccessAtMs: null, lastError: null });
  progress.tick('poll')();
  progress.noteStarted('poll');
  clock.ms += 250;
  progress.noteSucceeded('poll');
  expect(health()).toMatchObject({
    state: 'ok',
    lastTickAtMs: 1_000_000,
    lastSuccessAtMs: 1_000_250,
    lastDurationMs: 250,
    runningSinceMs: null,
  });
});

test('a stage that fails is tried again later and later, at most a minute later, until it succeeds', () => {
  const { clock, progress, health } = setUp();
  const waits: number[] = [];
  for (let run = 0; run < 8; run++) {
    progress.noteStarted('poll');
    progress.noteFailed('poll', new TransientError('Upstream', 'it is away'));
    expect(progress.backOffMs('poll')).toBe(health().retryAtMs! - clock.ms);
    waits.push(progress.backOffMs('poll'));
    clock.ms = health().retryAtMs!;
    expect(progress.backOffMs('poll')).toBe(0);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(health()).toMatchObject({ failures: 8, failingSinceMs: 1_000_000 });
  progress.tick('poll')();
  progress.noteStarted('poll');
  progress.noteSucceeded('poll');
  expect(health()).toMatchObject({ state: 'ok', failures: 0, retryAtMs: null });
});

test('a stage is tried again after the time that its server asks for, but at most a minute later', () => {
  const { clock, progress } = setUp();
  const waitAfter = (retryAfterMs: number) => {
    progress.noteStarted('poll');
    progress.noteFailed('poll', new TransientError('Busy', 'later', { details: { retryAfterMs } }));
    const waitMs = progress.backOffMs('poll');
    clock.ms += waitMs;
    return waitMs;
  };
  expect([7_000, 0, 3_600_000, 1_000].map(waitAfter)).toEqual([7_000, 2_000, 60_000, 8_000]);
});

test('the last error stays to be seen, with whether a retry is worth it', () => {
  const { clock, progress, health } = setUp();
  progress.noteStarted('poll');
  progress.noteFailed('poll', new TerminalError('NoSuchTable', 'there is no such table'));
  expect(health()).toMatchObject({
    state: 'failing',
    failures: 1,
    lastError: { atMs: clock.ms, code: 'NoSuchTable', message: 'there is no such table', retryable: false },
  });
  progress.noteStarted('poll');
  progress.noteSucceeded('poll');
  expect(health().lastError?.code).toBe('NoSuchTable');
});

test.each([
  { maxPeriodMs: 1_000, afterMs: 15_000 },
  { maxPeriodMs: 60_000, afterMs: 300_000 },
])('a stage without a tick for 5 periods, and for 15 s, is unscheduled: $maxPeriodMs ms', (each) => {
  const { clock, progress, health } = setUp(each.maxPeriodMs);
  progress.tick('poll')();
  clock.ms += each.afterMs;
  expect(health().state).toBe('ok');
  clock.ms += 1;
  expect(health().state).toBe('unscheduled');
  progress.tick('poll')();
  expect(health().state).toBe('ok');
});

test.each([
  { maxPeriodMs: 1_000, afterMs: 60_000 },
  { maxPeriodMs: 60_000, afterMs: 600_000 },
])('a stage that does not succeed for 10 periods, and for a minute, is late: $maxPeriodMs ms', (each) => {
  const { health, passMs } = setUp(each.maxPeriodMs);
  passMs(each.afterMs);
  expect(health().state).toBe('ok');
  passMs(1_000);
  expect(health().state).toBe('late');
});

test('a stage is not unscheduled during a call, and not late during a run', () => {
  const { clock, progress, health, passMs } = setUp();
  const endCall = progress.tick('poll');
  clock.ms += 20_000;
  expect(health().state).toBe('ok');
  endCall();
  expect(health().state).toBe('unscheduled');
  passMs(30_000);
  progress.noteStarted('poll');
  passMs(20_000);
  expect(health().state).toBe('ok');
  progress.noteInterrupted('poll');
  expect(health().state).toBe('late');
});

test('a run that continues after it was told to stop is stuck', () => {
  const { progress, health, passMs } = setUp();
  progress.noteStarted('poll');
  passMs(60_000);
  expect(health().state).toBe('ok');
  passMs(1_000);
  expect(health().state).toBe('stuck');
});

test('a run that was interrupted is not a success and not a failure', () => {
  const { progress, health } = setUp();
  progress.noteStarted('poll');
  progress.noteInterrupted('poll');
  expect(health()).toMatchObject({ state: 'ok', failures: 0, lastSuccessAtMs: null, runningSinceMs: null });
});
