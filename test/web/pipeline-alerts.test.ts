import { expect, test } from 'vitest';
import type { AlertsAnswer } from '../../src/web/facts/answers.ts';
import { PipelineAlerts } from '../../src/web/pages/pipeline-alerts.tsx';
import { renderPart } from './support/render-part.ts';

type Alert = AlertsAnswer['alerts'][number];
type Channel = AlertsAnswer['channels'][number];

const sent: Alert = {
  condition: 'deviceSilent',
  title: 'Device silent',
  subject: 'garage',
  text: 'garage has sent nothing since 08:12',
  since: '2026-05-17T07:12:30.000Z',
  known: false,
  snoozed: false,
  seenBy: null,
  sentTo: ['ops'],
};
const channel: Channel = {
  id: 'ops',
  kind: 'webhook',
  lastSentAt: null,
  lastError: null,
  waiting: false,
};
const quiet: AlertsAnswer = { alerts: [], total: 0, unseen: 0, snoozes: [], channels: [channel] };

const shown = (changed: Partial<AlertsAnswer>, mayOperate = true) =>
  renderPart(
    PipelineAlerts,
    {},
    { 'alerts?limit=20': { ...quiet, ...changed } },
    { workgroup: { id: 'home', maySeeAll: true, mayCorrect: true, mayOperate, mayAudit: true } },
  ).lines;

test('without an answer, and without a channel, nothing is shown', () => {
  expect(renderPart(PipelineAlerts, {}).lines).toEqual([]);
  expect(shown({ channels: [], alerts: [sent], total: 1 })).toEqual([]);
});

test('without an open alert it says when a message is sent', () => {
  expect(shown({})).toEqual([
    'Alerts',
    'No open alert',
    'A message is sent as soon as something needs attention.',
    '[Send nothing for 12 hours]',
  ]);
});

test('each alert has its time, its words and what became of it, and can be seen once', () => {
  const alerts: Alert[] = [
    sent,
    { ...sent, sentTo: [], title: 'Low energy' },
    { ...sent, snoozed: true },
    { ...sent, known: true, snoozed: true },
    { ...sent, seenBy: 'ada', known: true },
  ];
  const words = 'Device silent: garage has sent nothing since 08:12';
  const since = 'May 17, 2026, 09:12';
  const expected = [
    'Alerts',
    '5 open alerts, 2 not seen.',
    'Open alerts',
    'Since | Alert | State | Do',
    `${since} | ${words} | sent | [Seen] <Seen: Device silent, garage>`,
    `${since} | Low energy: garage has sent nothing since 08:12 | not sent yet | [Seen] <Seen: Low energy, garage>`,
    `${since} | ${words} | snoozed | [Seen] <Seen: Device silent, garage>`,
    `${since} | ${words} | known before | [Seen] <Seen: Device silent, garage>`,
    `${since} | ${words} | seen |`,
    '<Open alerts>',
  ];
  expect(shown({ alerts, total: 5, unseen: 2 })).toEqual([...expected, '[Send nothing for 12 hours]']);
  expect(shown({ alerts, total: 5, unseen: 2 }, false)).toEqual(
    expected.map((line) => line.replace(/ \| Do$| \| \[Seen\].*$/, '').replace(/ \| seen \|$/, ' | seen')),
  );
});

test('one alert is one alert', () => {
  expect(shown({ alerts: [sent], total: 1, unseen: 1 })[1]).toBe('1 open alert, 1 not seen.');
});

test('snoozed conditions have their end, and messages can be sent again', () => {
  const until = '2026-05-17T20:00:00.000Z';
  const snoozes = [
    { condition: 'all', until, by: 'ada' },
    { condition: 'deviceSilent', until, by: 'ada' },
  ];
  expect(shown({ snoozes }).slice(3)).toEqual([
    'All alerts are snoozed until May 17, 2026, 22:00.',
    'deviceSilent is snoozed until May 17, 2026, 22:00.',
    '[Send again]',
  ]);
});

test('only a channel that does not take messages is named, with its error', () => {
  const broken = { ...channel, id: 'mail', lastError: 'the server answered with 550' };
  expect(shown({ channels: [channel, broken] }, false).slice(3)).toEqual([
    'Channel mail: the server answered with 550',
  ]);
});
