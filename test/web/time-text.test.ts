import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DayTime, TimeAgo } from '../../src/web/parts/time-text.tsx';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

const at = '2026-05-17T02:00:00.000Z';
const zone = 'America/New_York';

test('a time since then has the full time in the zone of the workgroup', () => {
  const part = renderPart(TimeAgo, { at });
  expect(part.lines).toEqual(['8 hours ago <May 17, 2026, 04:00 (Europe/Berlin)>']);
  expect(part.elements('time')[0]!.datetime).toBe(at);
  expect(renderPart(TimeAgo, { at }, {}, { zone }).lines).toEqual([
    '8 hours ago <May 16, 2026, 22:00 (America/New_York)>',
  ]);
});

test('a day with its time is that of the zone of the workgroup', () => {
  const part = renderPart(DayTime, { at });
  expect(part.lines).toEqual(['May 17, 2026, 04:00']);
  expect(part.elements('time')).toEqual([{ datetime: at }]);
  expect(renderPart(DayTime, { at }, {}, { zone }).lines).toEqual(['May 16, 2026, 22:00']);
});

test.each([null, undefined, ''])('without a time (%s) there is a dash', (none) => {
  for (const part of [TimeAgo, DayTime]) expect(renderPart(part, { at: none }).lines).toEqual(['–']);
});
