import { afterAll, expect, test, vi } from 'vitest';
import type { DeviceStatuses } from '../../src/web/facts/answers.ts';
import type { Attention } from '../../src/web/facts/attention.ts';
import { AttentionList, OverviewState, StateSign } from '../../src/web/pages/overview-state.tsx';
import { renderPart } from './support/render-part.ts';

vi.useFakeTimers({ now: Date.parse('2026-05-17T10:00:00Z'), toFake: ['Date'] });
afterAll(() => {
  vi.useRealTimers();
});

const lastSeen = '2026-05-17T09:59:00.000Z';
const online: DeviceStatuses[string] = { state: 'online', since: null, reason: null, lastSeen };
const asleep: DeviceStatuses[string] = { ...online, state: 'offline', reason: 'asleep' };
const heard: DeviceStatuses[string] = { ...online, state: 'unknown' };
const unknown: DeviceStatuses[string] = { ...heard, lastSeen: null };
const line = (rank: Attention['rank'], text: string): Attention => ({
  key: text,
  rank,
  text,
  href: '#/home/quality',
  leads: 'Quality',
});
const completeMs = Date.parse('2026-05-17T09:45:00Z');
const state = (attention: Attention[], devices: Array<DeviceStatuses[string]>, known = true) =>
  renderPart(OverviewState, {
    attention,
    statuses: Object.fromEntries(devices.map((status, index) => [`device ${index}`, status])),
    completeMs: known ? completeMs : undefined,
    zone: 'Asia/Tokyo',
  }).lines;

test('without anything to look at all is well, also with notes', () => {
  expect(state([], [online, online, asleep])).toEqual([
    'All is well.',
    '2 of 3 devices are online, 1 asleep. Energy of today is complete up to 18:45 (Asia/Tokyo).',
    '<State>',
  ]);
  expect(state([line('noted', 'A day has changed.')], [online])).toEqual([
    'All is well.',
    '1 of 1 device is online. Energy of today is complete up to 18:45 (Asia/Tokyo).',
    '<State>',
  ]);
});

test('the worst thing is named, and notes do not count', () => {
  const doubtful = line('doubtful', 'A guess.');
  expect(state([line('bad', 'The roof is offline.'), doubtful], [online])[0]).toBe(
    '2 things need attention.',
  );
  expect(state([doubtful, line('noted', 'A day has changed.')], [online])).toEqual([
    '1 thing needs attention.',
    'A guess.',
    '1 of 1 device is online. Energy of today is complete up to 18:45 (Asia/Tokyo).',
    '<State>',
  ]);
});

test('devices are counted as online, or as sending data if none was ever announced', () => {
  expect([
    state([], [heard, heard, unknown])[1],
    state([], [online, heard])[1],
    state([], [asleep])[1],
    state([], [unknown])[1],
    state([], [online], false)[1],
  ]).toEqual([
    '2 of 2 devices are sending data. Energy of today is complete up to 18:45 (Asia/Tokyo).',
    '1 of 2 devices is online. Energy of today is complete up to 18:45 (Asia/Tokyo).',
    '0 of 1 device is online, 1 asleep. Energy of today is complete up to 18:45 (Asia/Tokyo).',
    'Energy of today is complete up to 18:45 (Asia/Tokyo).',
    '1 of 1 device is online. Nothing of today is known yet.',
  ]);
});

test('a tick stands for good, and a triangle for all else', () => {
  const shapes = (given: Parameters<typeof StateSign>[0]['state']) =>
    renderPart(StateSign, { state: given }).elements('circle').length;
  expect([shapes('good'), shapes('noted'), shapes('doubtful'), shapes('bad')]).toEqual([1, 0, 0, 0]);
});

test('the list has six things at most, and says where the others are', () => {
  const list = (count: number) =>
    renderPart(AttentionList, {
      attention: Array.from({ length: count }, (_, index) =>
        line((['bad', 'doubtful', 'noted'] as const)[index] ?? 'noted', `Thing ${index + 1}.`),
      ),
    }).lines;
  expect(list(0)).toEqual([
    'Nothing',
    'No day of the last week, no device and no part of the pipeline needs a look.',
  ]);
  expect(list(6)).toEqual([
    'Serious: Thing 1.Quality: Thing 1. {#/home/quality}',
    'Doubtful: Thing 2.Quality: Thing 2. {#/home/quality}',
    'For information: Thing 3.Quality: Thing 3. {#/home/quality}',
    'For information: Thing 4.Quality: Thing 4. {#/home/quality}',
    'For information: Thing 5.Quality: Thing 5. {#/home/quality}',
    'For information: Thing 6.Quality: Thing 6. {#/home/quality}',
  ]);
  expect(list(8).slice(6)).toEqual([
    'And 2 more, see Quality {#/home/quality} and Pipeline {#/home/pipeline}.',
  ]);
});
