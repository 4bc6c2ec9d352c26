import { expect, test } from 'vitest';
import { advanceAlarms } from '../../src/alerts/advance-alarms.ts';
import type { AlertFinding } from '../../src/alerts/alert-condition-type.ts';
import { type Alarm, type AlertState, emptyAlertState } from '../../src/alerts/alert-state.ts';
import { afterMessage, composeMessage } from '../../src/alerts/compose-message.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { TEST_START_MS as NOW_MS } from '../support/test-clock.ts';

const alarm = (condition: string, more: Partial<Alarm> = {}): Alarm => ({
  ...{ condition, subject: 'd1', text: 'it has happened', openedAtMs: NOW_MS, endedAtMs: null, channels: {} },
  ...more,
});

function compose(state: Partial<AlertState>, speaksForMachine = true) {
  return composeMessage(
    { ...emptyAlertState, ...state },
    { channelId: 'ops', workgroupId: 'home', nowMs: NOW_MS, speaksForMachine: () => speaksForMachine },
  );
}

test('the most important condition is told first, and its end before the next condition', () => {
  const ended = alarm('gap', { endedAtMs: NOW_MS, channels: { ops: 'told' } });
  expect(compose({ alarms: [alarm('budget'), alarm('gap'), ended] })).toMatchObject({
    kind: 'raised',
    condition: 'gap',
  });
  expect(compose({ alarms: [alarm('budget'), ended] })).toMatchObject({
    kind: 'recovered',
    condition: 'gap',
  });
});

test.each<[what: string, alarm: Alarm]>([
  ['existed before', alarm('gap', { isKnown: true })],
  ['was taken', alarm('gap', { channels: { ops: 'told' } })],
  ['was refused', alarm('gap', { channels: { ops: 'refused' } })],
  ['is over, and was refused', alarm('gap', { endedAtMs: NOW_MS, channels: { ops: 'refused' } })],
  [
    'is over, and was told to another channel',
    alarm('gap', { endedAtMs: NOW_MS, channels: { phone: 'told' } }),
  ],
])('an alarm that %s is not told', (_, one) => {
  expect(compose({ alarms: [one] })).toBeUndefined();
});

test('an alarm of the machine is told by one workgroup, whose name is not in the title', () => {
  expect(compose({ alarms: [alarm('disk')] }, false)).toBeUndefined();
  expect(compose({ alarms: [alarm('gap')] }, false)).toBeDefined();
  expect(compose({ alarms: [alarm('disk')] })).toMatchObject({ title: 'Disk nearly full', isUrgent: true });
  const ended = { endedAtMs: NOW_MS, channels: { ops: 'told' as const } };
  expect(compose({ alarms: [alarm('disk', ended)] }, false)).toMatchObject({
    title: 'over: Disk nearly full',
    isUrgent: false,
  });
});

test('a digest comes an hour after the last one, and its condition waits only for itself', () => {
  const sentAt = (agoMs: number) => ({ ops: { digestAtMs: { dayRestated: NOW_MS - agoMs } } });
  const alarms = [alarm('dayRestated')];
  const isTold = [HOUR_MS - 1, HOUR_MS, 1 - HOUR_MS, -HOUR_MS].map(
    (agoMs) => compose({ alarms, channels: sentAt(agoMs) }) !== undefined,
  );
  expect(isTold).toEqual([false, true, false, true]);
  expect(compose({ alarms: [...alarms, alarm('budget')], channels: sentAt(1) })).toMatchObject({
    condition: 'budget',
  });
});

test('a snooze keeps new alarms back, and not their end', () => {
  const snoozes = [{ condition: 'gap', atMs: NOW_MS, forMs: MINUTE_MS, by: 'ada' }];
  expect(compose({ alarms: [alarm('gap')], snoozes })).toBeUndefined();
  const ended = alarm('gap', { endedAtMs: NOW_MS, channels: { ops: 'told' } });
  expect(compose({ alarms: [ended], snoozes })).toMatchObject({ kind: 'recovered' });
});

test('20 sentences are told, and of more the number', () => {
  const many = (count: number) =>
    compose({
      alarms: Array.from({ length: count }, (_, index) => alarm('gap', { subject: String(index) })),
    })!;
  expect(many(1)).toMatchObject({ title: 'home: Gap in the stream', text: 'it has happened' });
  expect(many(20).text.split('\n')).toHaveLength(20);
  expect(many(21)).toMatchObject({ title: 'home: Gap in the stream (21)' });
  expect(many(21).text.split('\n').at(-1)).toBe('and 1 more; "wattline alerts list" shows them');
  expect(many(21).subjects).toHaveLength(21);
});

test('an alarm is gone after its end was told to each channel that knew of it', () => {
  const ended = alarm('gap', { endedAtMs: NOW_MS, channels: { ops: 'told', phone: 'told' } });
  const other = alarm('gap', { subject: 'd2', endedAtMs: NOW_MS, channels: { ops: 'told' } });
  const alarms = [ended, other, alarm('disk', { endedAtMs: NOW_MS, channels: { ops: 'told' } })];
  const message = compose({ alarms: [ended] })!;
  const state: AlertState = { ...emptyAlertState, alarms, channels: { ops: { message, digestAtMs: {} } } };
  const told = afterMessage(state, 'ops', 'told');
  expect(told.alarms).toEqual([{ ...ended, channels: { phone: 'told' } }, other, alarms[2]]);
  expect(afterMessage(told, 'phone', 'told')).toBe(told);
  const phone = { message, digestAtMs: {} };
  expect(afterMessage({ ...told, channels: { phone } }, 'phone', 'told').alarms).toEqual([other, alarms[2]]);
});

test('an alarm that has ended before anybody took its message is gone once the message is refused', () => {
  const ended = alarm('gap', { endedAtMs: NOW_MS });
  const message = compose({ alarms: [alarm('gap')] })!;
  const state = { ...emptyAlertState, alarms: [ended], channels: { ops: { message, digestAtMs: {} } } };
  expect(afterMessage(state, 'ops', 'refused').alarms).toEqual([]);
  expect(afterMessage(state, 'ops', 'told').alarms).toEqual([{ ...ended, channels: { ops: 'told' } }]);
});

/** The alarms after a look at the gaps of the stream. */
function look(state: AlertState, found: AlertFinding[], lasts = true) {
  const findings = new Map([['gap' as const, found]]);
  return advanceAlarms(state, findings, { active: ['gap'], hasLasted: () => lasts, nowMs: NOW_MS });
}

const judged: AlertState = { ...emptyAlertState, judged: ['gap'] };
const finding: AlertFinding = { subject: 'd1', text: 'it has happened' };

test('an alarm opens once its finding lasts, and keeps its sentence', () => {
  expect(look(judged, [finding], false).alarms).toEqual([]);
  expect(look(judged, [{ ...finding, isUnclear: true }]).alarms).toEqual([]);
  const opened = look(judged, [{ ...finding, lastsUntilMs: NOW_MS + 1 }]);
  expect(opened.alarms).toEqual([alarm('gap', { lastsUntilMs: NOW_MS + 1 })]);
  expect(look(opened, [{ ...finding, text: 'other words' }])).toBe(opened);
});

test('the first look is noted even if it finds nothing', () => {
  expect(look(emptyAlertState, []).judged).toEqual(['gap']);
  expect(look(judged, [])).toBe(judged);
});

test('an alarm keeps the time of its end, and continues if it holds again', () => {
  const ended = alarm('gap', { endedAtMs: NOW_MS - 5, channels: { ops: 'told' } });
  expect(look({ ...judged, alarms: [ended] }, []).alarms).toEqual([ended]);
  expect(look({ ...judged, alarms: [ended] }, [finding]).alarms).toEqual([{ ...ended, endedAtMs: null }]);
});

test('an alarm that nobody was told of ends without a message, unless its message is under way', () => {
  const open = alarm('gap');
  expect(look({ ...judged, alarms: [open] }, []).alarms).toEqual([]);
  const raised = compose({ alarms: [open] })!;
  const sending = (message: typeof raised) => ({
    ...judged,
    alarms: [open],
    channels: { ops: { message, digestAtMs: {} } },
  });
  expect(look(sending(raised), []).alarms).toEqual([{ ...open, endedAtMs: NOW_MS }]);
  expect(look(sending({ ...raised, subjects: ['d2'] }), []).alarms).toEqual([]);
  expect(look(sending({ ...raised, condition: 'disk' }), []).alarms).toEqual([]);
  expect(look(sending({ ...raised, kind: 'recovered' }), []).alarms).toEqual([]);
});

test('an alarm ends without a message from the time on at which its subject is out of sight', () => {
  const told = (lastsUntilMs: number) => alarm('gap', { channels: { ops: 'told' }, lastsUntilMs });
  expect(look({ ...judged, alarms: [told(NOW_MS)] }, []).alarms).toEqual([]);
  expect(look({ ...judged, alarms: [told(NOW_MS + 1)] }, []).alarms).toHaveLength(1);
});
