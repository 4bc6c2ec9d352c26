import { expect, test } from 'vitest';
import { createWorkerStartup } from '../../jobs/worker-startup.ts';

function setUp(isAnyWanted: boolean) {
  const clock = { isSteady: true as const, ms: 1_000, now: () => clock.ms };
  return { clock, startup: createWorkerStartup(clock, () => isAnyWanted) };
}

test('a worker has started when its closed shards are assessed and none is wanted any more', () => {
  const { startup } = setUp(true);
  startup.noteNothingWanted();
  expect(startup.isStarting()).toBe(true);
  startup.noteAssessed();
  expect(startup.isStarting()).toBe(true);
  startup.noteNothingWanted();
  expect(startup.isStarting()).toBe(false);
  startup.noteAssessed();
  expect(startup.isStarting()).toBe(false);
});

test('a worker without anything to open has started as soon as this is known', () => {
  const { startup } = setUp(false);
  expect(startup.isStarting()).toBe(true);
  startup.noteAssessed();
  expect(startup.isStarting()).toBe(false);
});

test('shards that wait for room do not hold the start up for long, but the assessment does', () => {
  const { clock, startup } = setUp(true);
  clock.ms += 8_000;
  expect(startup.isStarting()).toBe(true);
  startup.noteAssessed();
  expect(startup.isStarting()).toBe(false);
});
