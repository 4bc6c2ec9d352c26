import { expect, test } from 'vitest';
import { describeCorrectionOutcome, describeCorrections } from '../../src/cli/correct/correct-view.ts';
import { readAllCorrections } from '../../src/cli/correct/read-all-corrections.ts';
import type { ListedCorrection } from '../../src/correction/list-corrections.ts';
import { linesOf } from './terminal-of.ts';

const wide = Number.POSITIVE_INFINITY;
const named = { devices: [{ id: 'd1', name: 'garage' }, { id: 'd2' }], timezone: 'Europe/Paris' };
const set: ListedCorrection = {
  id: 3,
  kind: 'set',
  device: 'd1',
  source: 'roof',
  table: null,
  field: null,
  day: null,
  timezone: null,
  from: '2026-05-17T11:00:00.000Z',
  to: '2026-05-17T12:00:00.000Z',
  energyWh: 2_000,
  basis: null,
  undoes: null,
  undoneBy: null,
  reason: 'read by hand',
  author: 'anna',
  at: '2026-05-18T22:30:00.000Z',
  days: [],
  dayCount: 0,
};
const whatOf = (members: Partial<ListedCorrection>) =>
  linesOf(
    describeCorrectionOutcome({ outcome: 'stored', correction: { ...set, ...members } }, named, wide),
  )[0];

test.each<[Partial<ListedCorrection>, string]>([
  [{}, '2000 Wh from 2026-05-17 13:00 to 2026-05-17 14:00'],
  [{ kind: 'set_day', day: '2026-05-17' }, '2000 Wh on 2026-05-17'],
  [{ kind: 'exclude' }, 'readings from 2026-05-17 13:00 to 2026-05-17 14:00 are excluded'],
  [
    { kind: 'exclude', table: 'solar', field: 'wh' },
    'readings of solar.wh from 2026-05-17 13:00 to 2026-05-17 14:00 are excluded',
  ],
  [{ kind: 'undo', undoes: 2 }, 'correction 2 is undone'],
  [
    {
      kind: 'fill',
      basis: { from: 'comparable_days', days: { a: ['2026-05-12', '2026-05-11'], b: ['2026-05-12'] } },
    },
    '2000 Wh are estimated from 2026-05-17 13:00 to 2026-05-17 14:00, as the median of 2026-05-11, 2026-05-12',
  ],
  [
    {
      kind: 'fill',
      basis: { from: 'other_source', device: 'd2', source: 'east', ratio: 1.23456789, days: 9 },
    },
    '2000 Wh are estimated from 2026-05-17 13:00 to 2026-05-17 14:00, as east of d2 times 1.23457, from 9 days',
  ],
])('a correction %j is printed in local time', (members, what) => {
  expect(whatOf(members)).toBe(`correction 3 is stored: ${what}`);
});

test('a dry run and a correction that was stored before say that nothing is stored', () => {
  const headline = (outcome: 'checked' | 'stored-before') =>
    linesOf(describeCorrectionOutcome({ outcome, correction: set }, named, wide))[0];
  expect(headline('checked')).toMatch(/^nothing is stored; the correction would be: 2000 Wh/);
  expect(headline('stored-before')).toMatch(
    /^correction 3 was already stored with this key, nothing changed: /,
  );
});

test('the changed days have the sign of their change, and a day that appears or disappears has no other value', () => {
  const day = (name: string, device: string, beforeWh: number | null, afterWh: number | null) => ({
    day: name,
    device,
    source: 'roof',
    beforeWh,
    afterWh,
  });
  const days = [
    day('2026-05-16', 'd1', 1_000, 3_000),
    day('2026-05-17', 'd2', null, 500),
    day('2026-05-18', 'd1', 700, null),
  ];
  const correction = { ...set, days, dayCount: 4 };
  expect(linesOf(describeCorrectionOutcome({ outcome: 'stored', correction }, named, wide)).slice(1)).toEqual(
    [
      'Day         Device  Source  Before Wh  After Wh  Change',
      '2026-05-16  garage  roof         1000      3000   +2000',
      '2026-05-17  d2      roof            -       500    +500',
      '2026-05-18  garage  roof          700         -    -700',
      '... and 1 more day',
    ],
  );
  const all = { ...correction, dayCount: 3 };
  expect(
    linesOf(describeCorrectionOutcome({ outcome: 'stored', correction: all }, named, wide)),
  ).toHaveLength(5);
});

test('the list says which corrections are in force, and which one has undone another', () => {
  expect(describeCorrections([], named, wide)).toBe('no corrections\n');
  const undo: ListedCorrection = { ...set, id: 4, kind: 'undo', undoes: 3, energyWh: null };
  const lines = linesOf(describeCorrections([undo, { ...set, undoneBy: 4 }, { ...set, id: 1 }], named, wide));
  expect(lines[1]).toMatch(/^ 4 {2}2026-05-19 00:30 {2}garage {2}roof {4}correction 3 is undone .* 0 +anna/);
  expect(lines[2]).toContain('undone by 4');
  expect(lines[3]).toContain('in force');
});

test('all corrections are read, page by page, and the list prints 500 of them and counts the others', async () => {
  const stored = Array.from({ length: 2_500 }, (_, at) => ({ ...set, id: 2_500 - at }));
  const all = await readAllCorrections(async ({ before = Number.POSITIVE_INFINITY, limit }) =>
    stored.filter(({ id }) => id < before).slice(0, limit),
  );
  expect(all.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
  const lines = linesOf(describeCorrections(all, named, wide));
  expect([lines.length, lines.at(-1)]).toEqual([502, '... and 2000 more; --json prints all']);
  expect(linesOf(describeCorrections(all.slice(0, 500), named, wide))).toHaveLength(501);
});
