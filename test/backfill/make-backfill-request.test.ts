import { expect, test } from 'vitest';
import { makeBackfillRequest } from '../../src/backfill/make-backfill-request.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';

const home = workgroupSchema.parse({
  id: 'home',
  timezone: 'Europe/Paris',
  energyStreams: [{ table: 'solar', field: 'wh', method: 'total_energy' }],
});
type Wish = Parameters<typeof makeBackfillRequest>[0];
const made = (wish: Partial<Wish>, workgroup = home) =>
  makeBackfillRequest({ source: 'stream', messagesPerSecond: 10, ...wish }, workgroup);

test.each([
  ['2026-05-17', '2026-05-16T22:00:00.000Z'],
  ['2026-05-17T08:00:00Z', '2026-05-17T08:00:00.000Z'],
  ['2026-05-17T08:00:00.5+02:00', '2026-05-17T06:00:00.500Z'],
  ['1779004800000', '2026-05-17T08:00:00.000Z'],
])('%s is a time of a backfill', (from, expected) => {
  expect(made({ from })).toEqual({
    request: { source: 'stream', fromMs: Date.parse(expected), messagesPerSecond: 10 },
  });
});

test.each([
  '2026-02-30',
  '2026-02-30T08:00:00Z',
  '2026-05-17T08:00:00',
  '2026-05-17T24:00:00Z',
  'noon',
  '-1',
])('%s is no time of a backfill', (text) => {
  const message = expect.stringMatching(/^".*" is not a time; write a day /);
  expect(made({ from: text, to: text })).toEqual({
    problems: [
      { path: 'from', message },
      { path: 'to', message },
    ],
  });
});

test('a period has an end after its start, or none, and gaps have neither', () => {
  const period = { from: '2026-05-17', to: '2026-05-18' };
  expect(made({ ...period, table: 'other' })).toMatchObject({ request: { table: 'other' } });
  for (const to of ['2026-05-17', '2026-05-16'])
    expect(made({ ...period, to })).toEqual({ problems: [{ path: 'to', message: 'must be after from' }] });
  expect(made({ source: 'gaps' })).toEqual({ request: { source: 'gaps', messagesPerSecond: 10 } });
  for (const path of ['from', 'to', 'table'])
    expect(made({ source: 'gaps', [path]: '2026-05-17' })).toEqual({
      problems: [{ path, message: 'cannot be combined with gaps' }],
    });
});

test('the lake is read only for tables that an energy stream reads', () => {
  const wish = { source: 'archive' as const, from: '2026-05-17' };
  expect(made({ ...wish, table: 'solar' })).toMatchObject({ request: { source: 'archive', table: 'solar' } });
  expect(made({ ...wish, table: 'other' })).toEqual({
    problems: [{ path: 'table', message: 'no energy stream reads it; energy streams read solar' }],
  });
  expect(made(wish, { ...home, energyStreams: [] })).toMatchObject({ problems: [{ path: 'table' }] });
});
