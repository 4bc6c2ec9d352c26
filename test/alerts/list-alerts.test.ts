import { expect, test } from 'vitest';
import { type Alarm, type AlertState, emptyAlertState } from '../../src/alerts/alert-state.ts';
import { ALERTS_LISTED_MAX, listAlerts } from '../../src/alerts/list-alerts.ts';
import { alertsSchema } from '../../src/config/alert-settings.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

const { channels } = alertsSchema.parse({
  channels: [
    { id: 'ops', webhook: { url: 'http://127.0.0.1/' } },
    { id: 'phone', ntfy: { url: 'http://127.0.0.1/plant' } },
  ],
});

function alarm(condition: string, subject: string, more: Partial<Alarm> = {}): Alarm {
  return {
    ...{ condition, subject, text: subject, openedAtMs: TEST_START_MS, endedAtMs: null, channels: {} },
    ...more,
  };
}

function list(state: Partial<AlertState>, page = {}) {
  return listAlerts({ ...emptyAlertState, ...state }, { page, channels, nowMs: TEST_START_MS });
}

test('open alerts are listed by importance, then the newest first, then by subject', () => {
  const alarms = [
    alarm('of another version', 'unknown'),
    alarm('budget', 'roof'),
    alarm('deviceSilent', 'b'),
    alarm('deviceSilent', 'a'),
    alarm('deviceSilent', 'new', { openedAtMs: TEST_START_MS + 1 }),
    alarm('disk', 'dataDir', { openedAtMs: 0 }),
    alarm('gap', 'over', { endedAtMs: TEST_START_MS }),
  ];
  const found = list({ alarms });
  expect(found.alerts.map(({ subject }) => subject)).toEqual(['dataDir', 'new', 'a', 'b', 'roof', 'unknown']);
  expect(found.total).toBe(6);
  expect(list({ alarms }, { offset: 1, limit: 2 }).alerts.map(({ subject }) => subject)).toEqual([
    'new',
    'a',
  ]);
});

test('one answer lists 100 alerts without a limit, and 1,000 at most', () => {
  const alarms = Array.from({ length: ALERTS_LISTED_MAX + 1 }, (_, index) => alarm('gap', String(index)));
  expect(list({ alarms }).alerts).toHaveLength(100);
  expect(list({ alarms }, { limit: alarms.length }).alerts).toHaveLength(ALERTS_LISTED_MAX);
});

test('alerts that were seen, are snoozed, or existed before do not count as unseen', () => {
  const alarms = [
    alarm('gap', 'seen', { seen: { by: 'ada', atMs: 0 } }),
    alarm('gap', 'known', { isKnown: true }),
    alarm('disk', 'snoozed'),
    alarm('gap', 'unseen', { channels: { ops: 'told', phone: 'refused' } }),
  ];
  const snooze = (condition: string, atMs: number) => ({ condition, atMs, forMs: HOUR_MS, by: 'ada' });
  const snoozes = [snooze('disk', TEST_START_MS - HOUR_MS + 1), snooze('gap', TEST_START_MS - HOUR_MS)];
  const found = list({ alarms, snoozes });
  expect(found.unseen).toBe(1);
  const of = (subject: string) => found.alerts.find((one) => one.subject === subject);
  expect(of('seen')).toMatchObject({ seenBy: 'ada', known: false, snoozed: false });
  expect(of('known')).toMatchObject({ seenBy: null, known: true, snoozed: false });
  expect(of('snoozed')).toMatchObject({ seenBy: null, known: false, snoozed: true });
  // A channel that has refused its message does not know of it.
  expect(of('unseen')).toMatchObject({ sentTo: ['ops'] });
  // The snooze that is over is not listed.
  expect(found.snoozes).toEqual([{ condition: 'disk', until: '2026-11-20T12:00:00.001Z', by: 'ada' }]);
});

test('a channel has its kind, its last message and error, and says if a message waits', () => {
  const message = {
    ...{ id: 'm', kind: 'raised' as const, condition: 'gap', subjects: [], title: '', text: '' },
    ...{ isUrgent: true, atMs: 0, attempts: 1 },
  };
  const lastError = { atMs: TEST_START_MS, message: 'no answer' };
  const found = list({
    channels: { ops: { message, lastSentAtMs: TEST_START_MS, lastError, digestAtMs: {} } },
  });
  expect(found.channels).toEqual([
    {
      id: 'ops',
      kind: 'webhook',
      lastSentAt: '2026-11-20T12:00:00.000Z',
      lastError: 'no answer',
      waiting: true,
    },
    { id: 'phone', kind: 'ntfy', lastSentAt: null, lastError: null, waiting: false },
  ]);
});
