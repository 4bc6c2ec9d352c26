import { expect, test } from 'vitest';
import { type AlertMessage, type AlertState, emptyAlertState } from '../../src/alerts/alert-state.ts';
import { beginAttempt, endAttempt } from '../../src/alerts/record-attempts.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { TEST_START_MS as NOW_MS } from '../support/test-clock.ts';

const message: AlertMessage = {
  ...{
    id: 'm-1',
    kind: 'raised',
    condition: 'dayRestated',
    subjects: ['d1'],
    title: 'home: Final days changed',
  },
  ...{ text: 'd1 has changed', isUrgent: false, atMs: NOW_MS, attempts: 1 },
};
const alarm = {
  ...{ condition: 'dayRestated', subject: 'd1', text: 'd1 has changed' },
  ...{ openedAtMs: NOW_MS, endedAtMs: null, channels: {} },
};
const lastError = { atMs: NOW_MS - HOUR_MS, message: 'no answer' };
const underWay: AlertState = {
  ...emptyAlertState,
  alarms: [alarm],
  channels: { ops: { message, lastError, digestAtMs: { exportOutdated: 5 } } },
};
const begin = (state: AlertState, nowMs: number) =>
  beginAttempt(state, { channelId: 'ops', workgroupId: 'home', nowMs, speaksForMachine: () => true });

test('a message that was taken leaves its time, no error, and the time of its digest', () => {
  const { channels, alarms } = endAttempt(underWay, 'ops', { kind: 'told' }, NOW_MS);
  expect(channels.ops).toEqual({
    lastSentAtMs: NOW_MS,
    digestAtMs: { exportOutdated: 5, dayRestated: NOW_MS },
  });
  expect(alarms).toEqual([{ ...alarm, channels: { ops: 'told' } }]);
});

test('a message that was refused leaves its error, and is not sent again', () => {
  const refused = { kind: 'refused', why: 'HTTP 404' } as const;
  const { channels, alarms } = endAttempt(underWay, 'ops', refused, NOW_MS);
  expect(channels.ops).toEqual({
    lastError: { atMs: NOW_MS, message: 'HTTP 404' },
    digestAtMs: { exportOutdated: 5, dayRestated: NOW_MS },
  });
  expect(alarms[0]!.channels).toEqual({ ops: 'refused' });
});

test('a message that has failed stays, and its next attempt has the same id', () => {
  const failed = endAttempt(underWay, 'ops', { kind: 'failed', why: 'HTTP 503' }, NOW_MS);
  expect(failed.channels.ops).toEqual({
    ...underWay.channels.ops,
    lastError: { atMs: NOW_MS, message: 'HTTP 503' },
  });
  expect(failed.alarms).toEqual([alarm]);
  expect(begin(failed, NOW_MS + DAY_MS - 1).channels.ops!.message).toEqual({ ...message, attempts: 2 });
});

test('a message of a day ago is composed again, or dropped if there is nothing to say any more', () => {
  const again = begin(underWay, NOW_MS + DAY_MS).channels.ops!.message!;
  expect(again).toMatchObject({ condition: 'dayRestated', attempts: 1, atMs: NOW_MS + DAY_MS });
  expect(again.id).not.toBe(message.id);
  const dropped = begin({ ...underWay, alarms: [] }, NOW_MS + DAY_MS);
  expect(dropped.channels.ops).toEqual({ lastError, digestAtMs: { exportOutdated: 5 } });
  const silent = { ...emptyAlertState, alarms: [{ ...alarm, channels: { ops: 'told' as const } }] };
  expect(begin(silent, NOW_MS)).toBe(silent);
});
