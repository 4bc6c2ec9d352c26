import { expect, test } from 'vitest';
import type { AlertList } from '../../src/alerts/list-alerts.ts';
import { describeAlerts, describeTests } from '../../src/cli/alerts/alerts-view.ts';
import { linesOf } from './terminal-of.ts';

const alert: AlertList['alerts'][number] = {
  condition: 'lag',
  title: 'late',
  subject: 's',
  text: 'late by 9 min',
  since: '2026-05-17T08:00:00.000Z',
  known: false,
  snoozed: false,
  seenBy: null,
  sentTo: [],
};
const channel: AlertList['channels'][number] = {
  id: 'ops',
  kind: 'webhook',
  lastSentAt: null,
  lastError: null,
  waiting: false,
};

test('alerts have the most important of their states, and those that are not listed are counted', () => {
  const alerts = [
    alert,
    { ...alert, sentTo: ['ops', 'phone'] },
    { ...alert, sentTo: ['ops'], snoozed: true },
    { ...alert, sentTo: ['ops'], snoozed: true, seenBy: 'anna' },
    { ...alert, seenBy: 'anna', known: true },
  ];
  const list = { alerts, total: 6, unseen: 1, snoozes: [], channels: [channel] };
  const lines = linesOf(describeAlerts(list, Number.POSITIVE_INFINITY));
  expect(lines.slice(1, 6).map((line) => line.split(/ {2,}/)[2])).toEqual([
    'not sent yet',
    'sent to ops, phone',
    'snoozed',
    'seen',
    'known before',
  ]);
  expect(lines.slice(6)).toEqual(['and 1 more', 'channel ops (webhook): nothing sent yet']);
});

test('snoozes have their end and who made them, and a channel has its last message and its error', () => {
  const channels = [
    { ...channel, lastSentAt: '2026-05-17T07:00:00.000Z', lastError: 'status 500', waiting: true },
  ];
  const snoozes = [{ condition: 'all', until: '2026-05-18T07:00:00.000Z', by: 'anna' }];
  expect(linesOf(describeAlerts({ alerts: [], total: 0, unseen: 0, snoozes, channels }, 80))).toEqual([
    'no open alerts',
    'all is snoozed until 2026-05-18T07:00:00.000Z by anna',
    'channel ops (webhook): last sent at 2026-05-17T07:00:00.000Z; a message waits; status 500',
  ]);
  expect(describeAlerts({ alerts: [alert], total: 1, unseen: 1, snoozes, channels: [] }, 80)).toBe(
    'no channel of "alerts" receives the alerts of this workgroup\n',
  );
});

test('a test of the channels says which one has not taken the message, and why', () => {
  expect(
    describeTests([
      { channel: 'ops', outcome: 'told', why: null },
      { channel: 'phone', outcome: 'refused', why: 'status 403' },
    ]),
  ).toBe('ops: sent\nphone: refused: status 403\n');
});
