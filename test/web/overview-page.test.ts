import { afterAll, expect, test, vi } from 'vitest';
import { OverviewPage } from '../../src/web/pages/overview-page.tsx';
import { makeBalance } from './support/make-balance.ts';
import { makeDay } from './support/make-day.ts';
import { renderPart } from './support/render-part.ts';

vi.useFakeTimers({ now: Date.parse('2026-05-17T10:00:00Z'), toFake: ['Date'] });
afterAll(() => {
  vi.useRealTimers();
});

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const statuses = { [GARAGE]: { name: 'Garage' } };
const details = 'daily-energy/details?startDate=2026-04-18&endDate=2026-05-17&groupBy=source';
const balance = 'balance?startDate=2026-04-18&endDate=2026-05-17';
const shown = (answers: Record<string, unknown>, changed = {}) =>
  renderPart(OverviewPage, {}, { 'device-status': statuses, ...answers }, changed).lines;

const days = {
  '2026-05-15': { [`${GARAGE}.roof`]: makeDay(1_000) },
  '2026-05-16': { [`${GARAGE}.roof`]: makeDay(2_000, { flags: ['partial'] }) },
};

test('it waits for the energy, and for the balance if the token shows it', () => {
  const waiting = ['Overview', 'Reading the overview …'];
  expect(shown({})).toEqual(waiting);
  expect(shown({ [details]: days })).toEqual(waiting);
  const ofGroup = { id: 'home', maySeeAll: false, mayCorrect: false, mayOperate: false, mayAudit: false };
  expect(shown({ [details]: days }, { workgroup: ofGroup })).toContain('1 thing needs attention.');
});

test('a workgroup without energy says what to do', () => {
  expect(shown({ [details]: {}, [balance]: {} })).toEqual([
    'Overview',
    'No energy yet',
    'Nothing was measured in the last 30 days. Send readings to this workgroup, or import what you have. The page shows them within seconds.',
  ]);
});

test('what needs attention is first, then the numbers, the energy and the quality of the last days', () => {
  const attention = 'Garage · roof on Sat, May 16, 2026: only a part of the day is measured.';
  expect(shown({ [details]: days, [balance]: {} })).toEqual([
    'Overview',
    '1 thing needs attention.',
    attention,
    '1 of 1 device is sending data. Nothing of today is known yet.',
    '<State>',
    'Yesterday {#/home/day?day=2026-05-16}',
    '2.00 kWh {2000} all sources',
    'Too few days to say what is usual.',
    'Today so far {#/home/day?day=2026-05-17}',
    '– <not known> all sources',
    'This month {#/home/energy?from=2026-05-01&to=2026-05-17}',
    '3.00 kWh {3000} all sources',
    'Needs attention',
    `Doubtful: ${attention}Why: ${attention} {#/home/why?device=${GARAGE}&source=roof&day=2026-05-16}`,
    // The data are two days old, so a week is shown.
    'Last 7 days',
    '3.00 kWh {3000} by 1 source so far in May 11 – 17, 2026. The first data are of Fri, May 15, 2026. 1 day is marked: look before you trust it. More about energy {#/home/energy}',
    'Last 7 days 3.00 kWh {3000}',
    '[Garage · roof 3.00 kWh {3000}] <Highlight this series>',
    'partly a guess',
    'Quality of the last 7 days',
    'Each row is a source, each cell a day. All of them {#/home/quality}',
    'Point at a cell, or touch it, to read it. It leads to the explanation of its day.',
    'May 11',
    'complete',
    'partly a guess',
  ]);
});

test('with two roles the energy is that of the balance', () => {
  const roof = { role: 'production', device: GARAGE, source: 'roof', wh: 2_000, within: null } as const;
  const meter = { role: 'grid_import', device: GARAGE, source: 'meter', wh: 500, within: null } as const;
  const found = shown({
    [details]: days,
    [balance]: {
      '2026-05-16': makeBalance({
        ...{ productionWh: 2_000, gridImportWh: 500, consumptionWh: 2_500, parts: [roof, meter] },
      }),
    },
  });
  expect(found.find((line) => line.includes('More about energy'))).toMatch(
    /^2\.00 kWh \{2000\} produced, 2\.50 kWh \{2500\} used/,
  );
});

test.each([
  [1_000, '2026-05-14', 4],
  [600, '2026-05-11', 7],
  [3_000, '2026-05-16', 2],
])('%i devices are shown without their sources, with fewer days', (count, from, shownDays) => {
  const ids = Array.from({ length: count }, (_, index) => `d${index}`);
  const found = shown({
    'device-status': Object.fromEntries(ids.map((id) => [id, { name: `${id} of the farm` }])),
    [`daily-energy/details?startDate=${from}&endDate=2026-05-17`]: {
      '2026-05-16': Object.fromEntries(ids.slice(0, 13).map((id) => [id, makeDay(5)])),
    },
    [`balance?startDate=${from}&endDate=2026-05-17`]: {},
  });
  expect(found).toContain(`Last ${shownDays} days`);
  expect(found.some((line) => line.startsWith('65 Wh {65} by 7 devices and 6 others so far'))).toBe(true);
  expect(found).toContain('The 12 devices with the most trouble, of 13. All of them {#/home/quality}');
});
