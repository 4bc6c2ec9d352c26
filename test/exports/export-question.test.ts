import { expect, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { contentTypeOf } from '../../src/exports/deliver.ts';
import { monthsInWords } from '../../src/exports/export-balance.ts';
import { parsePeriod } from '../../src/exports/export-period.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { questionOf } from '../../src/exports/question-of.ts';
import { periodToRun } from '../../src/exports/run-by-hand.ts';
import { totalColumnsOf } from '../../src/exports/sheet-totals.ts';
import { deviceId } from '../support/messages.ts';

type ExportInput = NonNullable<ConfigInput['exports']>[number];

function openOne(more: Partial<ExportInput> = {}, timezone = 'Etc/UTC') {
  const daily = { id: 'daily', workgroup: 'acme', report: 'daily_energy', range: 'yesterday', format: 'csv' };
  const { workgroups, exports } = configSchema.parse({
    workgroups: [{ id: 'acme', timezone }],
    exports: [{ ...daily, destination: { folder: '/exports' }, ...more }],
  });
  return { config: exports[0]!, workgroup: workgroups[0]!, ledger: openFolderLedger('/unused', 'daily') };
}

test('files of an export are compared only if they answer the same question', () => {
  const asked = (...args: Parameters<typeof openOne>) => {
    const { config, workgroup } = openOne(...args);
    return questionOf(config, workgroup);
  };
  for (const same of [
    { id: 'other' },
    { range: 'last_month' },
    { format: 'json' },
    { schedule: '0 6 * * *' },
    { destination: { folder: '/other' } },
  ] as const)
    expect(asked(same)).toBe(asked());
  for (const other of [
    { report: 'device_daily_energy' },
    { groupBy: 'source' },
    { devices: [deviceId(1)] },
  ] satisfies Array<Partial<ExportInput>>)
    expect(asked(other)).not.toBe(asked());
  expect(asked({}, 'Europe/Paris')).not.toBe(asked());
});

test.each<[period: string | undefined, timezone: string, found: string]>([
  [undefined, 'Etc/UTC', '2026-11-19'],
  // It is after midnight in Tokyo.
  [undefined, 'Asia/Tokyo', '2026-11-20'],
  ['2026-11-20', 'Asia/Tokyo', '2026-11-20'],
  ['2026-11-20', 'Etc/UTC', 'period: 2026-11-20 has not ended yet; today is 2026-11-20'],
  ['2026-11', 'Etc/UTC', 'period: 2026-11 has not ended yet; today is 2026-11-20'],
])('by hand, the period %s is run in %s: %s', (period, timezone, found) => {
  const nowMs = Date.parse('2026-11-20T18:00:00Z');
  const choose = () =>
    periodToRun(openOne({}, timezone), period === undefined ? undefined : parsePeriod(period), nowMs).name;
  if (found.startsWith('period')) expect(choose).toThrow(found);
  else expect(choose()).toBe(found);
});

test.each([
  ['daily_2026-11.csv', 'text/csv; charset=utf-8; header=present'],
  ['a.b.json', 'application/json; charset=utf-8'],
  ['toString', 'application/octet-stream'],
])('the file %s is %s', (name, type) => expect(contentTypeOf(name)).toBe(type));

test('totals of a sheet are by the texts of the key and their names, in the order of the columns', () => {
  const shape = {
    columns: ['day', 'interval_start', 'device', 'device_name', 'source', 'energy_wh'],
    key: ['source', 'device', 'interval_start'],
    energies: ['energy_wh'],
  } as const;
  expect(totalColumnsOf(shape)).toEqual({
    keys: ['device', 'device_name', 'source'],
    energies: ['energy_wh'],
  });
});

test('the balance of a month is told with its shares, and what is not known is not 0', () => {
  const known = {
    ...{ productionWh: 1_000, consumptionWh: 1_360, selfConsumptionWh: 400, selfSupplyWh: 0 },
    ...{ selfConsumptionRate: 0.4, autarky: 0.2941, days: 19, completeDays: 1 },
  };
  const unknown = { ...known, productionWh: null, selfConsumptionRate: null, autarky: 0, days: 1 };
  const parts = [
    Buffer.from(`{"2026-10":${JSON.stringify(known)},`),
    Buffer.from(`"2026-11":${JSON.stringify(unknown)}}`),
  ];
  expect(monthsInWords(parts)).toEqual([
    [
      '2026-10',
      'production 1,000 Wh, consumption 1,360 Wh, self-consumption 400 Wh (40 %), self-supply 0 Wh (29.4 %), of 1 of 19 days',
    ],
    [
      '2026-11',
      'production not known, consumption 1,360 Wh, self-consumption 400 Wh, self-supply 0 Wh (0 %), of 1 of 1 day',
    ],
  ]);
});
