import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { KindOfDevice } from '../../src/web/facts/device-kind.ts';
import type { DeviceRow } from '../../src/web/facts/device-rows.ts';
import { DeviceStateText, LastData } from '../../src/web/parts/device-state-text.tsx';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

type Status = DeviceRow['status'];
const row = (kind: KindOfDevice, changed: Partial<Status> = {}): DeviceRow => ({
  id: '0b0e7c1e-0000-4000-8000-000000000001',
  name: 'Garage',
  kind,
  status: { state: 'unknown', since: null, reason: null, lastSeen: null, ...changed },
});
const stateOf = (...args: Parameters<typeof row>) => renderPart(DeviceStateText, { row: row(...args) }).lines;
const lastDataOf = (...args: Parameters<typeof row>) => renderPart(LastData, { row: row(...args) }).lines;

const since = '2026-05-17T07:00:00.000Z';
const lasts = 'for 3 hours <since May 17, 2026, 09:00 (Europe/Berlin)>';
const lastSeen = '2026-05-15T10:00:00.000Z';

test.each<[KindOfDevice, string]>([
  ['offline', '[bad] offline'],
  ['silent', '[doubtful] silent'],
  ['unknown', '[noted] no message yet'],
  ['heard', '[good] sends data'],
  ['asleep', '[calm] asleep'],
  ['online', '[good] online'],
])('a device that is %s says so', (kind, words) => {
  expect(stateOf(kind)).toEqual([words]);
});

test('a state has its duration and its reason, unless the reason says the same', () => {
  expect(stateOf('offline', { since, reason: 'timeout' })).toEqual([`[bad] offline ${lasts}, timeout`]);
  expect(stateOf('asleep', { since, reason: 'asleep' })).toEqual([`[calm] asleep ${lasts}`]);
  expect(stateOf('online', { since })).toEqual([`[good] online ${lasts}`]);
  expect(stateOf('online', { reason: 'data received' })).toEqual(['[good] online']);
});

test('a state that has just begun has no duration', () => {
  expect(stateOf('online', { since: '2026-05-17T09:59:30.000Z' })).toEqual([
    '[good] online just now <since May 17, 2026, 11:59 (Europe/Berlin)>',
  ]);
});

test('a silent device has its last data, and not the time of what it said before', () => {
  expect(stateOf('silent', { since, reason: 'data received', lastSeen })).toEqual([
    '[doubtful] silent last data 2 days ago <May 15, 2026, 12:00 (Europe/Berlin)>',
  ]);
  expect(stateOf('silent', { since })).toEqual(['[doubtful] silent']);
});

test('data that came while a device was offline are marked', () => {
  const seen = '3 hours ago <May 17, 2026, 09:00 (Europe/Berlin)>';
  const before = '2026-05-17T06:59:59.000Z';
  expect(lastDataOf('offline')).toEqual(['–']);
  expect(lastDataOf('offline', { lastSeen: since })).toEqual([seen]);
  expect(lastDataOf('offline', { lastSeen: since, since })).toEqual([seen]);
  expect(lastDataOf('offline', { lastSeen: since, since: before })).toEqual([
    `${seen}, after it went offline`,
  ]);
  expect(lastDataOf('online', { lastSeen: since, since: before })).toEqual([seen]);
});
