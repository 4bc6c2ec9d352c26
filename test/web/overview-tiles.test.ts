import { afterAll, expect, test, vi } from 'vitest';
import type { Balances, DayDetails } from '../../src/web/facts/answers.ts';
import { OverviewTiles } from '../../src/web/pages/overview-tiles.tsx';
import { listDays } from '../../src/web/words/local-days.ts';
import { makeBalance } from './support/make-balance.ts';
import { makeDay } from './support/make-day.ts';
import { renderPart } from './support/render-part.ts';

vi.useFakeTimers({ now: Date.parse('2026-05-17T10:00:00Z'), toFake: ['Date'] });
afterAll(() => {
  vi.useRealTimers();
});

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const roof = `${GARAGE}.roof`;
const house = `${GARAGE}.house`;
const given: Parameters<typeof OverviewTiles>[0] = {
  details: {},
  balances: undefined,
  roles: new Map(),
  profile: undefined,
  quarters: undefined,
  hasMonth: false,
};
const part = (props: Partial<Parameters<typeof OverviewTiles>[0]>) =>
  renderPart(OverviewTiles, { ...given, ...props });
const shown = (props: Partial<Parameters<typeof OverviewTiles>[0]>) => part(props).lines;
/** Five days before yesterday, which are enough to say what is usual. */
const usual = (wh: number): DayDetails =>
  Object.fromEntries(listDays('2026-05-11', '2026-05-15').map((day) => [day, { [roof]: makeDay(wh) }]));

test('without data nothing is zero', () => {
  expect(shown({})).toEqual([
    'Yesterday {#/home/day?day=2026-05-16}',
    '– <not known> all sources',
    'No data, which is not zero.',
    'Today so far {#/home/day?day=2026-05-17}',
    '– <not known> all sources',
  ]);
});

test('yesterday is compared with the days before, once there are five', () => {
  const details: DayDetails = {
    ...usual(1_000),
    '2026-05-16': { [roof]: makeDay(1_040), [house]: makeDay(null) },
  };
  expect(shown({ details })[2]).toBe('4 % more than {4} on a usual day.');
  const { '2026-05-11': _, ...four } = details;
  expect(shown({ details: four })[2]).toBe('Too few days to say what is usual.');
  expect(shown({ details: { ...usual(0), '2026-05-16': { [roof]: makeDay(5) } } })[2]).toBe(
    'Too few days to say what is usual.',
  );
});

test('what is not measured of yesterday is said, even if it is one minute', () => {
  const of = (coverage: number) =>
    shown({ details: { '2026-05-16': { [roof]: makeDay(5, { flags: ['partial'], coverage }) } } })[2];
  expect([of(0.75), of(1 - 1 / 1_440)]).toEqual([
    'Too few days to say what is usual. Not measured: 6 h {21600000} of the day.',
    'Too few days to say what is usual. Not measured: 1 min {60000} of the day.',
  ]);
});

test('a site with a roof shows what it produces and uses, its own use and its month', () => {
  const details = {
    ...usual(1_000),
    '2026-04-30': { [roof]: makeDay(50_000) },
    '2026-05-16': { [roof]: makeDay(3_000), [house]: makeDay(2_000) },
    '2026-05-17': { [roof]: makeDay(400, { status: 'provisional' }), [house]: makeDay(90) },
  };
  const balances: Balances = {
    ...Object.fromEntries(
      listDays('2026-05-11', '2026-05-15').map((day) => [day, makeBalance({ consumptionWh: 1_000 })]),
    ),
    '2026-05-15': makeBalance({ consumptionWh: null }),
    '2026-05-16': makeBalance({ consumptionWh: 2_000, autarky: 0.714, selfConsumptionRate: null }),
  };
  const quarter = makeBalance({ productionWh: 250, consumptionWh: 100, gridImportWh: null });
  const props: Partial<Parameters<typeof OverviewTiles>[0]> = {
    details,
    balances,
    roles: new Map([
      [roof, 'production'],
      [house, 'consumption'],
    ]),
    profile: {
      start: '2026-05-16T22:00:00.000Z',
      intervals: 96,
      energyWh: { [roof]: [null, 100, 300], [house]: [1, 2, 3] },
    },
    quarters: { '2026-05-17T09:45:00Z': quarter },
    hasMonth: true,
  };
  expect(shown(props)).toEqual([
    'Yesterday {#/home/day?day=2026-05-16}',
    '3.00 kWh {3000} produced',
    '200 % more than {200} on a usual day.',
    '2.00 kWh {2000} used',
    'Today so far {#/home/day?day=2026-05-17}',
    '400 Wh {400} produced',
    '11:45 – 12:00: 1.00 kW {1000} produced, 400 W {400} used',
    'Yesterday, own use',
    'Autarky 71 % {0.714} <Share of what was used that did not come from the grid>',
    'Self-consumption – <Share of what was produced that was used here>',
    'This month {#/home/energy?from=2026-05-01&to=2026-05-17}',
    '8.40 kWh {8400} produced',
    '6.00 kWh {6000} used 1 day is not known',
  ]);
  // The small picture has the production only.
  const bars = part(props)
    .elements('rect')
    .filter(({ class: name }) => name === 'bar tone-production');
  expect(bars.map(({ x, height }) => [x, height])).toEqual([
    ['1.1', '10'],
    ['2.1', '30'],
  ]);
  const share = part(props)
    .elements('rect')
    .find(({ class: name }) => name === 'share-fill');
  expect(Number(share?.width)).toBeCloseTo(71.4);
});

test('a house without a roof shows what it uses, and one with a meter what it draws', () => {
  const balances = { '2026-05-16': makeBalance({ consumptionWh: 2_000 }) };
  const details = { '2026-05-16': { [house]: makeDay(2_000) } };
  const roles = new Map([[house, 'consumption' as const]]);
  expect(shown({ details, balances, roles, hasMonth: true })).toEqual([
    'Yesterday {#/home/day?day=2026-05-16}',
    '2.00 kWh {2000} used',
    'Too few days to say what is usual.',
    'Today so far {#/home/day?day=2026-05-17}',
    '– <not known> used',
    'This month {#/home/energy?from=2026-05-01&to=2026-05-17}',
    '2.00 kWh {2000} used',
  ]);
  const grid = new Map([[house, 'grid_import' as const]]);
  expect(shown({ details, balances, roles: grid, hasMonth: true })).toEqual([
    'Yesterday {#/home/day?day=2026-05-16}',
    '2.00 kWh {2000} from the grid',
    'Too few days to say what is usual.',
    '2.00 kWh {2000} used',
    'Today so far {#/home/day?day=2026-05-17}',
    '– <not known> from the grid',
    'This month {#/home/energy?from=2026-05-01&to=2026-05-17}',
    '2.00 kWh {2000} from the grid',
    '2.00 kWh {2000} used up to yesterday',
  ]);
});

test('two days of a month that are not known are counted, and today is not one of them', () => {
  const none = makeBalance({ consumptionWh: null });
  const month = (days: Balances) =>
    shown({
      details: usual(1),
      balances: { '2026-05-11': makeBalance({ consumptionWh: 7 }), ...days },
      hasMonth: true,
    }).at(-1);
  expect([
    month({ '2026-05-12': none, '2026-05-13': none, '2026-05-17': none }),
    month({ '2026-05-17': none }),
    month({ '2026-05-17': makeBalance({ consumptionWh: 1 }), '2026-04-30': none, '2026-05-10': none }),
  ]).toEqual(['7 Wh {7} used 2 days are not known', '7 Wh {7} used up to yesterday', '8 Wh {8} used']);
});
