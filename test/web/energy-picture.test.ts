import { expect, test } from 'vitest';
import type { Balance, DeviceStatuses } from '../../src/web/facts/answers.ts';
import { EnergyPicture } from '../../src/web/pages/energy-picture.tsx';
import { listDays } from '../../src/web/words/local-days.ts';
import { makeBalance } from './support/make-balance.ts';
import { makeDay } from './support/make-day.ts';
import { renderPart } from './support/render-part.ts';

const idOf = (index: number) => `0b0e7c1e-0000-4000-8000-${String(index).padStart(12, '0')}`;
const [GARAGE, ROOF] = [idOf(1), idOf(2)];
const status: DeviceStatuses[string] = { state: 'online', since: null, reason: null, lastSeen: null };
const statuses = { [GARAGE]: { ...status, name: 'Garage' }, [ROOF]: { ...status, name: 'Roof' } };
const period = { from: '2026-05-15', to: '2026-05-17' };
const range = 'startDate=2026-05-15&endDate=2026-05-17';
const unasked = { answer: undefined, failure: undefined, isLoading: false, refresh: () => undefined };
const given = {
  show: 'devices',
  period,
  other: undefined,
  grain: 'day' as const,
  balances: unasked,
  statuses: statuses as DeviceStatuses | undefined,
  roles: new Map<string, string>(),
  device: undefined,
};
type Given = Parameters<typeof EnergyPicture>[0];
const shown = (props: Partial<Given>, answers: Record<string, unknown>, changed = {}) =>
  renderPart(EnergyPicture, { ...given, ...props } as Given, answers, changed).lines;
const balanceOf = (...values: Balance[]) => ({
  ...unasked,
  answer: Object.fromEntries(values.map((one, index) => [`2026-05-1${5 + index}`, one])),
});

test('devices have flags, and a link to each day', () => {
  const details = {
    '2026-05-15': { [GARAGE]: makeDay(1_000), [ROOF]: makeDay(500, { flags: ['gap'] }) },
    '2026-05-17': { [GARAGE]: makeDay(250, { status: 'provisional', flags: ['partial'] }) },
  };
  expect(shown({}, { [`daily-energy/details?${range}`]: details })).toEqual([
    '1.75 kWh {1750} by 2 devices so far in May 15 – 17, 2026. 1 day of 3 has no data. A part of today is not known yet. 1 day is marked: look before you trust it.',
    'May 15 – 17, 2026 1.75 kWh {1750}',
    '[Garage 1.25 kWh {1250}] <Highlight this series>',
    '[Roof 500 Wh {500}] <Highlight this series>',
    'provisional, can still change',
    'no data, which is not zero',
    'partly a guess',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | Garage | Roof | Sum | Quality',
    'Fri, May 15, 2026 {#/home/day?day=2026-05-15} | 1.00 kWh {1000} | 0.50 kWh {500} | 1.50 kWh {1500} | gap (1 of 2)',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16} | – <not known> | – <not known> | – <not known> | no data',
    'Sun, May 17, 2026 {#/home/day?day=2026-05-17} | 0.25 kWh {250} | – <not known> | 0.25 kWh {250} | until now, provisional, no data of 1 source',
    'Sum | 1.25 kWh {1250} | 0.50 kWh {500} | 1.75 kWh {1750} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('without an answer, and without energy, there is no picture', () => {
  expect(shown({}, {})).toEqual(['Reading energy …']);
  expect(shown({}, { [`daily-energy/details?${range}`]: {} })).toEqual([
    'No energy in this period',
    'Nothing was measured in May 15 – 17, 2026. A day without any measurement is not a zero.',
  ]);
});

test('sources of one device leave out its name; sources of a role leave out other roles', () => {
  const details = {
    '2026-05-16': { [`${GARAGE}.east`]: makeDay(7), [`${GARAGE}.west`]: makeDay(5) },
  };
  const path = `daily-energy/details?${range}&groupBy=source&devices=${GARAGE}`;
  expect(shown({ show: 'sources', device: GARAGE }, { [path]: details })[0]).toBe(
    '12 Wh {12} by 2 sources so far in May 15 – 17, 2026. The first data are of Sat, May 16, 2026.',
  );
  const roles = new Map([[`${GARAGE}.west`, 'consumption']]);
  const lines = shown({ show: 'consumption', device: GARAGE, roles }, { [path]: details });
  expect(lines).toEqual([
    '5 Wh {5} of consumption so far in May 15 – 17, 2026. The first data are of Sat, May 16, 2026.',
    'May 15 – 17, 2026 5 Wh {5}',
    '[west 5 Wh {5}] <Highlight this series>',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | west | Quality',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16} | 5 Wh {5} |',
    'Sum | 5 Wh {5} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('meters have their names', () => {
  const meters = [{ code: 'DE1', name: 'Main' }, { code: 'DE2' }];
  const energy = { '2026-05-16': { DE1: 900, DE2: 100 } };
  expect(shown({ show: 'meters' }, { [`meter-data?${range}`]: energy }, { meters })).toEqual([
    '1.00 kWh {1000} by 2 meters so far in May 15 – 17, 2026. The first data are of Sat, May 16, 2026.',
    'May 15 – 17, 2026 1.00 kWh {1000}',
    '[Main 900 Wh {900}] <Highlight this series>',
    '[DE2 100 Wh {100}] <Highlight this series>',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | Main | DE2 | Sum | Quality',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16} | 900 Wh {900} | 100 Wh {100} | 1,000 Wh {1000} |',
    'Sum | 900 Wh {900} | 100 Wh {100} | 1.00 kWh {1000} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('months lead to their days, and whole months are compared with the months before', () => {
  const year = { from: '2026-01-01', to: '2026-12-31' };
  const before = { from: '2025-01-01', to: '2025-12-31' };
  const april = (of: number, wh: number) =>
    Object.fromEntries(listDays(`${of}-04-01`, `${of}-04-30`).map((day) => [day, { [GARAGE]: wh }]));
  const linesOf = (now: object, then: object) =>
    shown(
      { period: year, other: before, grain: 'month' },
      {
        'daily-energy/details?startDate=2026-01-01&endDate=2026-12-31': {},
        'daily-energy?startDate=2026-01-01&endDate=2026-12-31': now,
        'daily-energy?startDate=2025-01-01&endDate=2025-12-31': then,
      },
    );
  // May is not over.
  const may = { '2026-05-01': { [GARAGE]: 4_000 } };
  expect(
    linesOf({ ...april(2026, 100), ...may }, { ...april(2025, 50), '2025-05-01': { [GARAGE]: 500 } }),
  ).toEqual([
    '7.00 kWh {7000} by 1 device so far in 2026. The first data are of April 2026. That is 100 % more than {100} in 2025, over the 1 whole month that both have. 1 month is marked: look before you trust it.',
    '2026 7.00 kWh {7000} 2025 2.00 kWh {2000}',
    '[Garage 7.00 kWh {7000}] <Highlight this series>',
    'partly a guess',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | Garage | Quality',
    'April 2026 {#/home/energy?from=2026-04-01&to=2026-04-30&show=devices} | 3.00 kWh {3000} |',
    'May 2026 {#/home/energy?from=2026-05-01&to=2026-05-31&show=devices} | 4.00 kWh {4000} | 1 of 17 days with data',
    'Sum | 7.00 kWh {7000} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
  const { '2025-04-30': _, ...incomplete } = april(2025, 50);
  expect(linesOf(april(2026, 100), incomplete)[0]).toContain('There is nothing to compare with in 2025.');
});

test('a balance has the energy of the roles, and the flags of the sources', () => {
  const balances = balanceOf(
    makeBalance({ productionWh: 3_000, consumptionWh: 2_000 }),
    makeBalance({ productionWh: 2_000, consumptionWh: null, missing: ['consumption'] }),
  );
  const details = { '2026-05-15': { [`${GARAGE}.default`]: makeDay(3_000, { flags: ['contradicted'] }) } };
  const path = `daily-energy/details?${range}&groupBy=source`;
  expect(shown({ show: 'balance', balances }, { [path]: details })).toEqual([
    '5.00 kWh {5000} produced, 2.00 kWh {2000} used so far in May 15 – 17, 2026. On 1 day a part is missing. 1 day is marked: look before you trust it.',
    'May 15 – 17, 2026',
    '[Production 5.00 kWh {5000}] <Highlight this series>',
    '[Consumption 2.00 kWh {2000}] <Highlight this series>',
    'no data, which is not zero',
    'not to be trusted',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | Production | Consumption | Quality',
    'Fri, May 15, 2026 {#/home/day?day=2026-05-15} | 3.00 kWh {3000} | 2.00 kWh {2000} | contradicted',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16} | 2.00 kWh {2000} | – <not known> |',
    'Sum | 5.00 kWh {5000} | 2.00 kWh {2000} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('the balance of a site is its own, and so is the one of the period before', () => {
  const other = { from: '2026-05-12', to: '2026-05-14' };
  const path = (range: string) => `sites/North%20barn/balance?${range}&resolution=day`;
  const lines = shown(
    { show: 'site:North barn', other },
    {
      [path(range)]: { '2026-05-15': makeBalance({ productionWh: 3_000, consumptionWh: 1_000 }) },
      [path('startDate=2026-05-12&endDate=2026-05-14')]: {
        '2026-05-12': makeBalance({ productionWh: 2_000, consumptionWh: 1_000 }),
      },
    },
  );
  expect(lines).toEqual([
    '3.00 kWh {3000} produced, 1.00 kWh {1000} used so far in May 15 – 17, 2026. Production is 50 % more than {50} in May 12 – 14, 2026, over the 1 whole day that both have. 1 day of 2 has no data.',
    'May 15 – 17, 2026 Production, May 12 – 14, 2026 2.00 kWh {2000}',
    '[Production 3.00 kWh {3000}] <Highlight this series>',
    '[Consumption 1.00 kWh {1000}] <Highlight this series>',
    'no data, which is not zero',
    'The same as a table',
    'Energy, days of Europe/Berlin',
    'Period | Production | Consumption | Quality',
    'Fri, May 15, 2026 {#/home/day?day=2026-05-15} | 3.00 kWh {3000} | 1.00 kWh {1000} |',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16} | – <not known> | – <not known> | no data',
    'Sum | 3.00 kWh {3000} | 1.00 kWh {1000} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('of many values the service adds up the smaller series, or a shorter period is asked for', () => {
  const many = Object.fromEntries(Array.from({ length: 6_667 }, (_, index) => [idOf(index), status]));
  const path = `daily-energy?${range}&top=7`;
  const energy = { '2026-05-16': { [idOf(9)]: 5, others: 7 } };
  expect(shown({ statuses: many }, { [path]: energy })[0]).toBe(
    '12 Wh {12} by 1 device and all others so far in May 15 – 17, 2026. The first data are of Sat, May 16, 2026.',
  );
  expect(shown({ statuses: many, show: 'production' }, {})).toEqual([
    'These are too many values for one picture',
    '6,667 devices have 20,001 daily values in this period. Choose a shorter period.',
  ]);
  const meters = Array.from({ length: 6_667 }, (_, index) => ({ code: `M${index}` }));
  expect(shown({ show: 'meters' }, {}, { meters })[1]).toBe(
    '6,667 meters have 20,001 daily values in this period. Choose a shorter period.',
  );
  // Of one device alone there are few values.
  const one = `daily-energy/details?${range}&devices=${GARAGE}`;
  expect(shown({ statuses: many, device: GARAGE }, { [one]: {} })[0]).toBe('No energy in this period');
});

test('a large answer has no flags', () => {
  const many = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [idOf(index), status]));
  const lines = shown({ statuses: many }, { [`daily-energy?${range}`]: { '2026-05-16': { [idOf(9)]: 5 } } });
  expect(lines[0]).toBe(
    '5 Wh {5} by 1 device so far in May 15 – 17, 2026. The first data are of Sat, May 16, 2026.',
  );
  const path = `daily-energy/details?${range}&groupBy=source`;
  const details = { '2026-05-15': { [`${GARAGE}.default`]: makeDay(3_000, { flags: ['contradicted'] }) } };
  const balances = balanceOf(makeBalance({ productionWh: 3_000 }));
  // Energy without flags is of no use for a balance, so it is not read.
  const energy = { '2026-05-15': { [`${GARAGE}.default`]: 3_000 } };
  const large = { [`daily-energy?${range}&groupBy=source`]: energy, [path]: details };
  expect(shown({ show: 'balance', balances, statuses: many }, large)).not.toContain('not to be trusted');
  expect(shown({ show: 'balance', balances }, { [path]: details })).toContain('not to be trusted');
});
