import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Profiles } from '../../src/web/facts/answers.ts';
import { DayPage } from '../../src/web/pages/day-page.tsx';
import { makeBalance } from './support/make-balance.ts';
import { makeDay } from './support/make-day.ts';
import { renderPart } from './support/render-part.ts';

// The zone of the machine is one of the choices.
const zoneBefore = process.env.TZ;
beforeAll(() => {
  process.env.TZ = 'UTC';
  vi.useFakeTimers({ now: Date.parse('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
  if (zoneBefore === undefined) delete process.env.TZ;
  else process.env.TZ = zoneBefore;
});

const [GARAGE, ROOF] = ['0b0e7c1e-0000-4000-8000-000000000001', '0b0e7c1e-0000-4000-8000-000000000002'];
const statuses = { [GARAGE]: { name: 'Garage' }, [ROOF]: { name: 'Roof' } };
const reader = { id: 'home', maySeeAll: false, mayCorrect: false, mayOperate: false, mayAudit: false };
const quarters = (...known: Array<number | null>) => [
  ...known,
  ...Array.from({ length: 96 - known.length }, () => null),
];
const full = (wh: number) => Array.from({ length: 96 }, () => wh);
const profileOf = (day: string, start: string, energyWh: Profiles[string]['energyWh']) => ({
  [`interval-energy?startDate=${day}&endDate=${day}&groupBy=source&top=100`]: {
    [day]: { start, intervals: 96, energyWh },
  },
});
const ofDay = (energyWh: Profiles[string]['energyWh']) =>
  profileOf('2026-05-16', '2026-05-15T22:00:00.000Z', energyWh);
const shown = (query: Record<string, string>, answers: Record<string, unknown>, changed = {}) =>
  renderPart(DayPage, { query }, { 'device-status': statuses, ...answers }, { workgroup: reader, ...changed })
    .lines;
/** The choices end with that of the zone. */
const below = (lines: string[]) => lines.slice(lines.findLastIndex((line) => line.includes('UTC')) + 1);

test('without an address it is today, and the choices name each day', () => {
  expect(shown({}, {})).toEqual([
    'Day',
    '{#/home/day?day=2026-05-16} <Day before>Sun, May 17, 2026 <Day>',
    '[date: 2026-05-17] <Day>',
    'Device',
    '*All devices Garage Roof',
    'Compare with',
    '*no other day the day before, Sat, May 16 a week before, Sun, May 10 four weeks before, Sun, Apr 19 a year before, Sun, May 18',
    'Time zone',
    '*Europe/Berlin, workgroup UTC, this browser',
    'Reading the profile …',
  ]);
});

test('another zone and a day that is not in the list are choices too', () => {
  const query = { day: '2026-05-16', with: '2026-01-01', zone: 'Asia/Tokyo', device: ROOF };
  expect(shown(query, {}).slice(2)).toEqual([
    '[date: 2026-05-16] <Day>',
    'Device',
    'All devices Garage *Roof',
    'Compare with',
    'no other day the day before, Fri, May 15 a week before, Sat, May 9 four weeks before, Sat, Apr 18 a year before, Sat, May 17 *Thu, Jan 1, 2026',
    'Time zone',
    'Europe/Berlin, workgroup UTC, this browser *Asia/Tokyo',
    'Reading the profile …',
  ]);
});

test('nothing published is not zero', () => {
  expect(below(shown({ day: '2026-05-16' }, ofDay({})))).toEqual([
    'No energy on Sat, May 16, 2026',
    'Nothing is published for this day. That is not the same as zero.',
  ]);
  const path = `interval-energy?startDate=2026-05-16&endDate=2026-05-16&groupBy=source&top=100&devices=${ROOF}`;
  expect(shown({ day: '2026-05-16', device: ROOF }, { [path]: {} }).at(-1)).toBe(
    'Nothing is published for this day and device. That is not the same as zero.',
  );
});

test('a whole day has its peak, its marked devices first, and its table', () => {
  const answers = {
    ...ofDay({ [`${GARAGE}.default`]: full(100), [`${ROOF}.default`]: [...full(0).slice(1), 500] }),
    'daily-energy/details?startDate=2026-05-16&endDate=2026-05-16': {
      '2026-05-16': {
        [ROOF]: makeDay(500, { flags: ['gap'] }),
        [GARAGE]: makeDay(9_600, { flags: ['reset'] }),
      },
    },
  };
  const lines = below(shown({ day: '2026-05-16' }, answers));
  expect(lines.slice(0, 8)).toEqual([
    'Sat, May 16 is known to its end. The strongest quarter of an hour begins at 23:45, with 600 Wh {600}. Roof is marked: look before you trust it.',
    'Sat, May 16, 2026 10.1 kWh {10100}',
    '[Garage 9.60 kWh {9600}] <Highlight this series>',
    '[Roof 500 Wh {500}] <Highlight this series>',
    'Why this number:Why the number of Roof △ {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000002&day=2026-05-16}Why the number of Garage {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&day=2026-05-16}',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | Garage | Roof | Sum | Quality',
  ]);
  expect(lines.slice(-4)).toEqual([
    'Sum | 9.60 kWh {9600} | 500 Wh {500} | 10.1 kWh {10100} |',
    '<Energy, days of Europe/Berlin>',
    '[Previous, disabled]1 – 50 of 96[Next]',
    '[Download CSV]',
  ]);
});

test('a day has quarters of an hour without data, and may be measured only in part', () => {
  const of = (...known: Array<number | null>) =>
    below(shown({ day: '2026-05-16' }, ofDay({ [`${GARAGE}.default`]: quarters(...known) })))[0];
  expect([of(5, null, 5), of(5, null, null, 5), of(null), of(5)]).toEqual([
    'Sat, May 16 is known up to 00:45. The strongest quarter of an hour begins at 00:00, with 5 Wh {5}. 1 quarter of an hour has no data.',
    'Sat, May 16 is known up to 01:00. The strongest quarter of an hour begins at 00:00, with 5 Wh {5}. 2 quarters of an hour have no data.',
    'Sat, May 16 has no measured interval.',
    'Sat, May 16 is known up to 00:15. The strongest quarter of an hour begins at 00:00, with 5 Wh {5}.',
  ]);
});

test('today is known so far, and two marked devices are named', () => {
  const today = profileOf('2026-05-17', '2026-05-16T22:00:00.000Z', {
    [`${GARAGE}.default`]: quarters(5, 6),
  });
  expect(below(shown({ day: '2026-05-17' }, today))[0]).toBe(
    'Sun, May 17 is known up to 00:30 so far. The strongest quarter of an hour begins at 00:15, with 6 Wh {6}.',
  );
  const both = { [GARAGE]: makeDay(1, { flags: ['gap'] }), [ROOF]: makeDay(1, { flags: ['contradicted'] }) };
  const answers = {
    ...ofDay({ [`${GARAGE}.default`]: full(1) }),
    'daily-energy/details?startDate=2026-05-16&endDate=2026-05-16': { '2026-05-16': both },
  };
  expect(below(shown({ day: '2026-05-16' }, answers))[0]).toBe(
    'Sat, May 16 is known to its end. The strongest quarter of an hour begins at 00:00, with 1 Wh {1}. Garage and Roof are marked: look before you trust them.',
  );
});

test('a day of another zone is cut out of two days, and has no explanation', () => {
  // The day in Tokyo is from 17:00 to 17:00 in Berlin.
  const path = 'interval-energy?startDate=2026-05-15&endDate=2026-05-16&groupBy=source&top=100';
  const days = {
    '2026-05-15': {
      start: '2026-05-14T22:00:00.000Z',
      intervals: 96,
      energyWh: { [`${GARAGE}.default`]: full(1) },
    },
    '2026-05-16': {
      start: '2026-05-15T22:00:00.000Z',
      intervals: 96,
      energyWh: { [`${GARAGE}.default`]: full(2) },
    },
  };
  const lines = shown({ day: '2026-05-16', zone: 'Asia/Tokyo' }, { [path]: days });
  const sentence = lines.findIndex((line) => line.startsWith('Sat, May 16 in'));
  expect(lines.slice(sentence, sentence + 5)).toEqual([
    'Sat, May 16 in Asia/Tokyo is known to its end. The strongest quarter of an hour begins at 07:00, with 2 Wh {2}.',
    'Sat, May 16, 2026 164 Wh {164}',
    '[Garage 164 Wh {164}] <Highlight this series>',
    'The same as a table',
    'Energy, days of Asia/Tokyo',
  ]);
});

test('another day is the reference, as far as it has energy', () => {
  const answers = {
    ...ofDay({ [`${GARAGE}.default`]: full(10) }),
    ...profileOf('2026-05-15', '2026-05-14T22:00:00.000Z', { [`${GARAGE}.default`]: full(5) }),
  };
  const query = { day: '2026-05-16', with: '2026-05-15' };
  // It is in the list already.
  expect(shown(query, answers)[6]).toMatch(/ \*the day before, Fri, May 15 .* a year before, Sat, May 17$/);
  expect(below(shown(query, answers))[1]).toBe('Sat, May 16, 2026 960 Wh {960} Fri, May 15 480 Wh {480}');
  expect(below(shown(query, ofDay({ [`${GARAGE}.default`]: full(10) })))[1]).toBe(
    'Sat, May 16, 2026 960 Wh {960}',
  );
});

test('with roles it is a balance, which needs a token for all devices', () => {
  const all = { ...reader, maySeeAll: true };
  const role = (source: string, name: 'production' | 'consumption') => ({
    ...{ device: GARAGE, source, role: name, wh: 5, within: null },
  });
  const balance = (resolution: string) =>
    `balance?startDate=2026-05-16&endDate=2026-05-16&timezone=Europe%2FBerlin&resolution=${resolution}`;
  const profile = ofDay({ [`${GARAGE}.roof`]: quarters(40), [`${GARAGE}.house`]: quarters(30) });
  const answers = {
    ...profile,
    [balance('day')]: {
      '2026-05-16': makeBalance({ parts: [role('roof', 'production'), role('house', 'consumption')] }),
    },
    [balance('interval')]: { '2026-05-15T22:00:00Z': makeBalance({ productionWh: 40, consumptionWh: 30 }) },
  };
  expect(below(shown({ day: '2026-05-16' }, answers, { workgroup: all })).slice(0, 4)).toEqual([
    'Sat, May 16 is known up to 00:15. The strongest quarter of an hour begins at 00:00, with 40 Wh {40}.',
    'Sat, May 16, 2026',
    '[Production 40 Wh {40}] <Highlight this series>',
    '[Consumption 30 Wh {30}] <Highlight this series>',
  ]);
  expect(below(shown({ day: '2026-05-16' }, profile, { workgroup: all }))).toEqual(['Reading the profile …']);
});
