import { expect, test } from 'vitest';
import { type AlertState, emptyAlertState, isSnoozed } from '../../src/alerts/alert-state.ts';
import { alertRequestSchema, changeByHand, SNOOZE_MS_MAX } from '../../src/alerts/change-by-hand.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

const alarm = (condition: string, subject: string, endedAtMs: number | null = null) => ({
  ...{ condition, subject, text: subject, openedAtMs: 0, endedAtMs },
  channels: {},
});

/** The state after a snooze by Ada at a time. */
function snoozed(state: AlertState, condition: string, forMs: number, atMs = TEST_START_MS): AlertState {
  return changeByHand({ do: 'snooze', condition, forMs, by: 'ada' }, atMs)(state);
}

const names = ({ snoozes }: AlertState) => snoozes.map(({ condition, forMs }) => `${condition} ${forMs}`);

test('a snooze replaces the one of its condition, and leaves out those that are over', () => {
  const first = snoozed(snoozed(emptyAlertState, 'gap', HOUR_MS), 'disk', 3 * HOUR_MS);
  expect(names(snoozed(first, 'disk', MINUTE_MS))).toEqual([`gap ${HOUR_MS}`, `disk ${MINUTE_MS}`]);
  expect(names(snoozed(first, 'coverage', MINUTE_MS, TEST_START_MS + HOUR_MS))).toEqual([
    `disk ${3 * HOUR_MS}`,
    `coverage ${MINUTE_MS}`,
  ]);
});

test('a snooze of all conditions replaces every other one', () => {
  expect(names(snoozed(snoozed(emptyAlertState, 'gap', HOUR_MS), 'all', HOUR_MS))).toEqual([
    `all ${HOUR_MS}`,
  ]);
});

test('a snooze of 0 ends only the snooze of its condition', () => {
  const both = snoozed(snoozed(emptyAlertState, 'gap', HOUR_MS), 'disk', HOUR_MS);
  expect(names(snoozed(both, 'gap', 0))).toEqual([`disk ${HOUR_MS}`]);
});

test('of 51 snoozes the oldest one is dropped', () => {
  const many = Array.from({ length: 51 }, (_, index) => `c${index}`);
  const state = many.reduce((before, name) => snoozed(before, name, HOUR_MS), emptyAlertState);
  expect(state.snoozes.map(({ condition }) => condition)).toEqual(many.slice(1));
});

test('a snooze lasts a minute at least and 30 days at most', () => {
  const isTaken = (forMs: number) =>
    alertRequestSchema.safeParse({ do: 'snooze', condition: 'gap', forMs, by: 'ada' }).success;
  expect([0, MINUTE_MS, SNOOZE_MS_MAX].map(isTaken)).toEqual([true, true, true]);
  expect([1, MINUTE_MS - 1, SNOOZE_MS_MAX + 1].map(isTaken)).toEqual([false, false, false]);
});

test('an alert keeps who saw it first; an alert that is over, and other alerts, are not seen', () => {
  const state: AlertState = {
    ...emptyAlertState,
    alarms: [alarm('gap', '1'), alarm('gap', '2'), alarm('gap', '3', TEST_START_MS), alarm('disk', '1')],
  };
  const seen = changeByHand({ do: 'see', condition: 'gap', subject: '1', by: 'ada' }, TEST_START_MS)(state);
  const whoSaw = ({ alarms }: AlertState) => alarms.map((one) => one.seen?.by ?? null);
  expect(whoSaw(seen)).toEqual(['ada', null, null, null]);
  const again = changeByHand({ do: 'see', condition: 'gap', by: 'ben' }, TEST_START_MS + HOUR_MS)(seen);
  expect(whoSaw(again)).toEqual(['ada', 'ben', null, null]);
  const all = changeByHand({ do: 'see', condition: 'all', by: 'eve' }, TEST_START_MS + HOUR_MS)(again);
  expect(whoSaw(all)).toEqual(['ada', 'ben', null, 'eve']);
});

test('a snooze is of its condition or of all, until its end, or until the clock is set back by more than its length', () => {
  const isQuiet = (condition: string, nowMs: number) =>
    isSnoozed(
      { ...emptyAlertState, snoozes: [{ condition, atMs: 10_000, forMs: 1_000, by: 'anna' }] },
      'disk',
      nowMs,
    );
  expect(['disk', 'all', 'gap'].map((condition) => isQuiet(condition, 10_000))).toEqual([true, true, false]);
  expect([9_000, 9_001, 10_999, 11_000].map((nowMs) => isQuiet('disk', nowMs))).toEqual([
    false,
    true,
    true,
    false,
  ]);
});
