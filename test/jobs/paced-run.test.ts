import { expect, test } from 'vitest';
import { type AfterRun, createPacedRun } from '../../jobs/paced-run.ts';
import { createTestClock } from '../support/test-clock.ts';

/** Runs every 30 s, at least 5 s apart, on a clock that a test moves. */
function setUp(
  after: (count: number) => AfterRun = () => 'done',
  { takesMs = 0, minPeriodMs = 5_000, random = Math.random } = {},
) {
  const clock = createTestClock();
  const startMs = clock.now();
  const atSeconds: number[] = [];
  const paced = createPacedRun({
    minPeriodMs,
    maxPeriodMs: 30_000,
    startTimer: clock.startTimer,
    nowMs: clock.now,
    random,
    async run() {
      atSeconds.push((clock.now() - startMs) / 1_000);
      if (takesMs > 0) await clock.pass(takesMs);
      return after(atSeconds.length);
    },
  });
  return { clock, paced, atSeconds };
}

test.each([
  { random: 0, apart: 27 },
  { random: 0.5, apart: 30 },
  { random: 0.999, apart: 33 },
])(
  'it runs at the beginning, and rarely if nobody asks: each $apart s if the random number is $random',
  async ({ random, apart }) => {
    const { clock, paced, atSeconds } = setUp(() => 'done', { random: () => random });
    await clock.advance(100_000);
    expect(atSeconds.map(Math.round)).toEqual([0, apart, 2 * apart, 3 * apart]);
    expect(paced.isBusy()).toBe(false);
  },
);

test('it never runs earlier than the least distance, although the time between two runs varies', async () => {
  const { clock, atSeconds } = setUp(() => 'done', { minPeriodMs: 30_000 });
  await clock.advance(20 * 33_000);
  const apart = atSeconds.slice(1).map((at, index) => at - atSeconds[index]!);
  expect(apart.length).toBeGreaterThanOrEqual(19);
  expect(Math.min(...apart)).toBeCloseTo(30);
});

test('it runs at once if the last run is long ago, and otherwise when the least distance has passed', async () => {
  const { clock, paced, atSeconds } = setUp();
  await clock.advance(10_000);
  paced.request();
  await clock.advance(0);
  expect(atSeconds).toEqual([0, 10]);
  await clock.advance(1_000);
  for (let asked = 0; asked < 3; asked++) paced.request();
  expect(paced.isBusy()).toBe(true);
  await clock.advance(10_000);
  expect(atSeconds).toEqual([0, 10, 15]);
});

test('it runs again if it is asked for during a run, and never twice at once', async () => {
  const { clock, paced, atSeconds } = setUp(() => 'done', { takesMs: 8_000 });
  await clock.advance(1_000);
  expect(paced.isBusy()).toBe(true);
  paced.request();
  await clock.advance(6_000);
  expect(atSeconds).toEqual([0]);
  await clock.advance(2_000);
  expect(atSeconds).toEqual([0, 8]);
  await clock.advance(8_000);
  expect(paced.isBusy()).toBe(false);
});

test('it runs again if the run says so, and after the wait that a run wants, even if it is asked for', async () => {
  const { clock, paced, atSeconds } = setUp((count) =>
    count === 1 ? 'again' : count === 2 ? { waitMs: 20_000 } : 'done',
  );
  await clock.advance(6_000);
  expect(atSeconds).toEqual([0, 5]);
  paced.request();
  await clock.advance(20_000);
  expect(atSeconds).toEqual([0, 5, 25]);
});

test('the wait that a run wants begins at its end', async () => {
  const { clock, atSeconds } = setUp((count) => (count === 1 ? { waitMs: 10_000 } : 'done'), {
    takesMs: 8_000,
  });
  await clock.advance(17_999);
  expect(atSeconds).toEqual([0]);
  await clock.advance(1);
  expect(atSeconds).toEqual([0, 18]);
});

test('it runs again after the wait that a run wants, although nobody asks', async () => {
  const { clock, paced, atSeconds } = setUp((count) => (count === 1 ? { waitMs: 10_000 } : 'done'));
  await clock.advance(9_000);
  expect(atSeconds).toEqual([0]);
  expect(paced.isBusy()).toBe(true);
  await clock.advance(1_000);
  expect(atSeconds).toEqual([0, 10]);
});

test('the first run may be later, unless somebody asks', async () => {
  const clock = createTestClock();
  let runs = 0;
  const paced = createPacedRun({
    minPeriodMs: 5_000,
    maxPeriodMs: 30_000,
    firstAfterMs: 20_000,
    startTimer: clock.startTimer,
    nowMs: clock.now,
    async run() {
      runs += 1;
      return 'done';
    },
  });
  expect(paced.isBusy()).toBe(false);
  await clock.advance(19_000);
  expect(runs).toBe(0);
  await clock.advance(1_000);
  expect(runs).toBe(1);
  paced.request();
  await clock.advance(5_000);
  expect(runs).toBe(2);
});

test('it does not run after it was stopped', async () => {
  const { clock, paced, atSeconds } = setUp();
  await clock.advance(1_000);
  paced.stop();
  paced.request();
  await clock.advance(60_000);
  expect(atSeconds).toEqual([0]);
});
