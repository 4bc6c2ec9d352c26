import { expect, test } from 'vitest';
import { reconcile } from '../../src/report/reconciliation.ts';
import { type DayValue, isMemberOn, percentOf, type SiteMember } from '../../src/report/site-days.ts';
import { rowsOfReconciliation } from '../../src/report/site-rows.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';

const DAY = '2026-11-20';
const meter: SiteMember = { key: 'GRID', meter: 'GRID', sign: 1 };
const device: SiteMember = { key: 'pv', device: 'd1', source: 'pv', sign: 1 };
const value = (more: Partial<DayValue> = {}): DayValue => ({
  energyWh: 100,
  coverage: 1,
  flags: [],
  ...more,
});
const enough = ruleConstants.full_coverage_share.value;

/** The reconciliation of one day with these values of the meter and of the device. */
function reconciled(
  metered: DayValue | undefined,
  measured: DayValue | undefined,
  members = { meters: [meter], devices: [device] },
) {
  const values = new Map(
    Object.entries({ GRID: metered, pv: measured }).filter(([, one]) => one) as Array<[string, DayValue]>,
  );
  return reconcile([DAY], members, new Map([[DAY, values]]));
}

test.each<[reason: string, measured: DayValue | undefined]>([
  ['no energy is known', undefined],
  ['a source of the device has no energy', value({ flags: ['incomplete'], energyWh: null, coverage: 0 })],
  ['its register fell, so that nobody knows the energy', value({ energyWh: null, coverage: 0 })],
  ['readings cover 62.5 % of the day', value({ coverage: 0.625 })],
  // It is rounded down.
  ['readings cover 89.9 % of the day', value({ coverage: 0.89999 })],
])('a day is incomplete: %s', (reason, measured) => {
  const { incompleteDays, days, total } = reconciled(value(), measured);
  expect(incompleteDays).toEqual({ [DAY]: [{ device: 'd1', source: 'pv', reason }] });
  expect([days, total]).toMatchObject([
    {},
    { days: 1, completeDays: 0, metersWh: 0, differencePercent: null },
  ]);
});

test('a day is complete from the share on that the flag partial has', () => {
  expect(reconciled(value({ coverage: enough }), value()).total.completeDays).toBe(1);
  expect(reconciled(value({ coverage: enough - 1e-9 }), value()).total.completeDays).toBe(0);
});

test('the difference is that of meters minus devices, by their signs, in percent of the meters', () => {
  const members = { meters: [meter], devices: [{ ...device, sign: -1 as const }] };
  expect(reconciled(value({ energyWh: 300 }), value(), members).days[DAY]).toEqual({
    metersWh: 300,
    devicesWh: -100,
    differenceWh: 400,
    differencePercent: 133.33,
    estimated: false,
  });
});

test('a day with an estimate of a meter or of a device says so', () => {
  const estimated = value({ flags: ['estimated'] });
  expect(reconciled(estimated, value()).days[DAY]!.estimated).toBe(true);
  expect(reconciled(value(), estimated).days[DAY]!.estimated).toBe(true);
});

test('a day without a meter or without a device is incomplete', () => {
  const late = { from: '2026-11-21' };
  const members = { meters: [{ ...meter, ...late }], devices: [{ ...device, ...late }] };
  expect(reconciled(value(), value(), members).incompleteDays[DAY]).toEqual([
    { reason: 'no meter is a member on this day' },
    { reason: 'no device is a member on this day' },
  ]);
});

test('a member is valid from its first to its last day', () => {
  const member = { ...meter, from: '2026-11-19', to: '2026-11-20' };
  const on = (day: string) => isMemberOn(member, day);
  expect(['2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21'].map(on)).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(isMemberOn(meter, DAY)).toBe(true);
});

test('a share in percent is rounded to two decimals; of nothing there is none', () => {
  expect([percentOf(1, 3), percentOf(2, 3), percentOf(-1, 8), percentOf(5, 0)]).toEqual([
    33.33,
    66.67,
    -12.5,
    null,
  ]);
});

test('a row of an incomplete day says what is missing, and has no energy', () => {
  const { total, ...answer } = reconcile(
    [DAY, '2026-11-21'],
    { meters: [{ ...meter, to: DAY }], devices: [device] },
    new Map([
      [
        DAY,
        new Map([
          ['GRID', value()],
          ['pv', value({ energyWh: 90 })],
        ]),
      ],
    ]),
  );
  const range = { startDay: DAY, endDay: '2026-11-21' };
  expect(rowsOfReconciliation({ site: 'roof', timezone: 'Etc/UTC', total, ...answer }, range)).toEqual([
    {
      ...{ day: DAY, site: 'roof', meters_wh: 100, devices_wh: 90, difference_wh: 10 },
      ...{ difference_percent: 10, estimated: false },
    },
    {
      ...{ day: '2026-11-21', site: 'roof' },
      missing: 'd1 pv: no energy is known; no meter is a member on this day',
    },
  ]);
});
