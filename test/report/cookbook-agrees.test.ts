import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { INTERVAL_MS } from '../../src/lib/time.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import type { DayChange } from '../../src/report/day-changes.ts';
import type { Reconciliation } from '../../src/report/reconciliation.ts';
import type { Variance } from '../../src/report/variance.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { WORKGROUP } from '../publish/support.ts';
import { deviceId } from '../support/messages.ts';
import { askRecipe, lakeRecipes, recipes } from '../support/recipes.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openBalance } from './balance-support.ts';
import { days, openPlant, type PlantFixture, range, timezone } from './plant.ts';

type Row = Record<string, unknown>;
type Details = Record<string, Record<string, Detail>>;
interface Detail {
  energyWh: number | null;
  methods: string[];
  flags: string[];
  coverage: number;
  status: string;
  version: number;
}
type Profiles = Record<string, { start: string; energyWh: Record<string, Array<number | null>> }>;

/** What each query has to answer, from the endpoints alone, in its order. */
const expected: Record<string, (at: PlantFixture) => Promise<Row[]>> = {
  'Daily profile': async (at) => {
    const bySource = await at.ask<Profiles>(`interval-energy?${range}&groupBy=source`);
    const byDevice = await at.ask<Profiles>(`interval-energy?${range}`);
    const found = new Map<string, { device: string; quarter_hour: string; energiesWh: number[] }>();
    for (const [day, { start, energyWh }] of Object.entries(byDevice))
      for (const [device, slots] of Object.entries(energyWh)) {
        const sources = Object.entries(bySource[day]!.energyWh)
          .filter(([key]) => key.startsWith(device) && key !== `${deviceId(3)}.import`)
          .map(([, own]) => own);
        for (const [slot, wh] of slots.entries()) {
          // A part of the sources would tell too little.
          if (sources.some((own) => own[slot] === null)) continue;
          const quarter_hour = localTime(Date.parse(start) + slot * INTERVAL_MS).slice(11, 16);
          const key = `${device} ${quarter_hour}`;
          const one = found.get(key) ?? { device, quarter_hour, energiesWh: [] };
          found.set(key, { ...one, energiesWh: [...one.energiesWh, wh!] });
        }
      }
    return [...found]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { device, quarter_hour, energiesWh }]) => ({
        quarter_hour,
        device,
        power_w: Math.round(4 * mean(energiesWh)),
        intervals: energiesWh.length,
      }));
  },
  'Worst days': async (at) => {
    const details = await at.ask<Details>(`daily-energy/details?${range}`);
    const found = valuesOf(details).map(({ day, key: device, energyWh, coverage }) => {
      const usual = median(valuesOf(details).flatMap((one) => (one.key === device ? [one.energyWh!] : [])));
      const share = Math.round((100 * energyWh!) / usual) / 100;
      return { device, day, energy_kwh: energyWh! / 1_000, usual_kwh: usual / 1_000, share, coverage };
    });
    return found.sort(
      (one, other) =>
        one.share - other.share || compare(one.day, other.day) || compare(one.device, other.device),
    );
  },
  'Missing data': async (at) => {
    const values = valuesOf(await at.ask<Details>(`daily-energy/details?${range}&groupBy=source`));
    const found = [...Map.groupBy(values, ({ key }) => key)].map(([key, own]) => {
      const [first, last] = [own[0]!.day, own.at(-1)!.day];
      const between = days.filter((day) => day >= first && day <= last);
      return {
        ...seriesOf(key),
        first_day: first,
        last_day: last,
        missing_days: between.length - own.length,
        partial_days: own.filter(({ coverage }) => coverage < 0.95).length,
        least_coverage: Math.min(...own.map(({ coverage }) => coverage)),
      };
    });
    return found.sort(
      (one, other) =>
        other.missing_days - one.missing_days ||
        other.partial_days - one.partial_days ||
        compare(`${one.device} ${one.source}`, `${other.device} ${other.source}`),
    );
  },
  'Month against budget': async (at) => {
    const rows: Row[] = [];
    for (const [site, meter, scenario] of [
      ['budgeted', 'PLANT-1', 'P50'],
      ['budgeted', 'PLANT-1', 'P90'],
      ['rooftop', 'ROOF-2', 'contract'],
    ] as const) {
      const path = `sites/${site}/variance?${range}&scenario=${scenario}`;
      const { months } = await at.ask<Variance>(path);
      const { comparedDays, actualWh, budgetWh, varianceWh, variancePercent } = months['2025-10']!;
      rows.push({
        meter_code: meter,
        scenario,
        month: '2025-10-01',
        days: comparedDays,
        actual_kwh: actualWh / 1_000,
        budget_kwh: budgetWh / 1_000,
        variance_kwh: expect.closeTo(varianceWh! / 1_000, 1),
        variance_percent: expect.closeTo(variancePercent!, 1),
      });
    }
    return rows;
  },
  'Meters against devices': async (at) => {
    const { days: complete, incompleteDays } = await at.ask<Reconciliation>(
      `sites/plant/reconciliation?${range}`,
    );
    expect(Object.keys(complete)).toHaveLength(2);
    expect(Object.keys(incompleteDays)).toHaveLength(3);
    return days.map((day) => {
      const one = complete[day];
      const missing = incompleteDays[day] ?? [];
      return {
        site: 'plant',
        day,
        // The second is a member from this day on.
        meters: day < days[2] ? 1 : 2,
        devices: 3 - missing.filter(({ reason }) => reason === 'no energy is known').length,
        coverage: one ? 1 : expect.closeTo(leastCoverage(missing), 2),
        meter_kwh: one ? one.metersWh / 1_000 : expect.any(Number),
        device_kwh: one ? one.devicesWh / 1_000 : expect.any(Number),
        difference_kwh: one ? expect.closeTo(one.differenceWh / 1_000, 9) : expect.any(Number),
        difference_percent: one ? one.differencePercent : expect.any(Number),
      };
    });
  },
  'Peak quarter hour': async (at) => {
    const profiles = await at.ask<Profiles>(`interval-energy?${range}&groupBy=source`);
    return [1, 2, 3].map((device) => {
      const slots = Object.values(profiles).flatMap(({ start, energyWh }) =>
        (energyWh[`${deviceId(device)}.import`] ?? []).map((wh, slot) => ({
          wh: wh ?? 0,
          startMs: Date.parse(start) + slot * INTERVAL_MS,
        })),
      );
      const peak = slots.reduce((best, one) => (one.wh > best.wh ? one : best));
      return {
        month: '2025-10-01',
        device: deviceId(device),
        peak_start: localTime(peak.startMs),
        peak_kw: (4 * peak.wh) / 1_000,
      };
    });
  },
  Restatements: async (at) => {
    const { changes } = await at.ask<{ changes: DayChange[] }>(
      'daily-energy/changes?since=2025-10-29T01:30:00Z',
    );
    expect(changes).toHaveLength(2);
    return changes.map(({ day, device, source, before, after, changedAt, causes }) => ({
      day,
      device,
      source,
      version: after.version,
      before_wh: before!.energyWh,
      energy_wh: after.energyWh,
      computed_at: changedAt.replace('T', ' ').replace('.000Z', '+00'),
      causes,
    }));
  },
  'Late data': async () =>
    // The two that were broken; days of 100, 96 and 96 * 3 readings without the gaps.
    [
      { device: deviceId(1), messages: 2 * 484 - 32 + 3, longest_delay_h: 3, later_than_an_hour: 2 },
      { device: deviceId(2), messages: 2 * 484 - 16 - 96 - 95, longest_delay_h: 0, later_than_an_hour: 0 },
      { device: deviceId(3), messages: 2 * 484 - 100, longest_delay_h: 0, later_than_an_hour: 0 },
    ].map(({ device, messages, ...late }) => ({ device, messages, usual_delay_s: 1, ...late })),
  'Counter faults': async (at) => {
    const values = valuesOf(await at.ask<Details>(`daily-energy/details?${range}&groupBy=source`));
    const faults = values.filter(({ flags }) => flags.includes('reset'));
    expect(faults).toHaveLength(1);
    return faults.map(({ key, day }) => ({
      ...seriesOf(key),
      flag: 'reset',
      meaning: expect.stringContaining('register'),
      days: 1,
      last_day: day,
    }));
  },
  'What was set aside': async () => [
    { reason: 'not_a_number', field: 'wh', readings: 2, last_at: expect.any(String), example: 'broken' },
  ],
  'Availability of devices': async () => [
    {
      device: deviceId(1),
      outages: 1,
      offline_h: expect.any(Number),
      longest_h: expect.any(Number),
      availability_percent: 0,
    },
    {
      device: deviceId(2),
      outages: 1,
      offline_h: 0.17,
      longest_h: 0.17,
      availability_percent: expect.any(Number),
    },
  ],
  'Two generations': async (at) => {
    const { changes } = await at.ask<{ changes: DayChange[] }>(
      'daily-energy/changes?since=2025-10-29T01:30:00Z',
    );
    return changes.map(({ day, device, source, before, after }) => ({
      day,
      device,
      source,
      older_wh: before!.energyWh,
      newer_wh: after.energyWh,
      older_version: before!.version,
      newer_version: after.version,
    }));
  },
  'Who is offline': async (at) => {
    const states = await at.ask<Record<string, { since: string; reason: string; lastSeen: string }>>(
      'device-status?state=offline',
    );
    expect(Object.keys(states)).toEqual([deviceId(1)]);
    return Object.entries(states).map(([device, { since, reason, lastSeen }]) => ({
      device,
      since: instantText(since),
      reason,
      last_seen: instantText(lastSeen),
    }));
  },
  'lake.md: Energy of each day, kWh, with what is to be known of it.': async (at) => {
    const values = valuesOf(await at.ask<Details>(`daily-energy/details?${range}&groupBy=source`));
    return values
      .sort((one, other) => compare(other.day, one.day) || compare(one.key, other.key))
      .map(({ day, key, energyWh, methods, coverage, flags, status, version }) => ({
        day,
        ...seriesOf(key),
        energy_kwh: energyWh! / 1_000,
        method: methods[0],
        coverage: expect.closeTo(coverage, 3),
        // The view has them in the order of their bits.
        flags: flags.toSorted((one, other) => bitOf(one) - bitOf(other)),
        status,
        version,
      }));
  },
  'lake.md: The load profile of an average day in local time, W, of each device and source.': async (at) => {
    const profiles = await at.ask<Profiles>(`interval-energy?${range}&groupBy=source`);
    const energiesWh = new Map<string, number[]>();
    for (const { start, energyWh } of Object.values(profiles))
      for (const [series, slots] of Object.entries(energyWh))
        for (const [slot, wh] of slots.entries()) {
          if (wh === null) continue;
          const key = `${series} ${localTime(Date.parse(start) + slot * INTERVAL_MS).slice(11, 16)}`;
          energiesWh.set(key, [...(energiesWh.get(key) ?? []), wh]);
        }
    return [...energiesWh]
      .sort(([one], [other]) => compare(one, other))
      .map(([key, list]) => {
        const [series = '', quarter_hour] = key.split(' ');
        return { ...seriesOf(series), quarter_hour, power_w: Math.round(4 * mean(list)) };
      });
  },
};

/** Nothing over HTTP tells the same, or another test compares it. */
const notCompared = [
  'Self-consumption',
  'Balance of a month',
  'Average day of a site',
  'Export to CSV',
  'What was done',
  'What people corrected',
  'Everything that was received',
];

test('every query of the pages tells what the endpoints tell, of a plant of many devices, sources and methods', async () => {
  const at = await openPlant();
  const problems: string[] = [];
  const all = [...recipes, ...lakeRecipes];
  for (const title of new Set(all.map((recipe) => recipe.title))) {
    if (notCompared.includes(title)) continue;
    try {
      const rows = await expected[title]!(at);
      for (const recipe of all.filter((one) => one.title === title)) {
        const answer = await askRecipe(lakePaths(at.lakeDir, WORKGROUP).root, recipe);
        const where = `${title}, on the ${recipe.isOnFiles ? 'files' : 'views'}`;
        problems.push(...differences(answer.rows, rows).map((one) => `${where}: ${one}`));
      }
    } catch (error) {
      problems.push(`${title}: ${error}`);
    }
  }
  expect(problems).toEqual([]);
}, 60_000);

test('the CSV file of a year has the days of daily energy by source', async () => {
  const at = await openPlant();
  const path = join(tempDir(), 'daily-energy.csv');
  const recipe = recipes.find(({ title }) => title === 'Export to CSV')!;
  const { rows } = await askRecipe(lakePaths(at.lakeDir, WORKGROUP).root, recipe, (sql) =>
    sql.replace("'daily-energy-2026.csv'", `'${path}'`).replaceAll('2026', '2025'),
  );
  const values = valuesOf(await at.ask<Details>(`daily-energy/details?${range}&groupBy=source`));
  expect(rows).toEqual([{ Count: values.length }]);
  const lines = readFileSync(path, 'utf8').trim().split('\n').slice(1);
  expect(lines.map((line) => line.split(',').slice(0, 4).join())).toEqual(
    values.map(({ day, key, energyWh }) => {
      const { device, source } = seriesOf(key);
      return `${day},${device},${source},${(energyWh! / 1_000).toFixed(3).replace(/0+$/, '').replace(/\.$/, '.0')}`;
    }),
  );
}, 60_000);

test('the queries of the energy balance tell what the balance tells', async () => {
  const roles = [
    { source: 'pv', role: 'production' },
    { source: 'load', role: 'consumption' },
  ];
  const noon = { '2026-06-01T10:00:00Z': 900, '2026-06-01T10:15:00Z': 600 };
  const at = await openBalance(
    { timezone: 'Europe/Paris', roles },
    { from: '2026-06-01', to: '2026-06-02' },
    [
      { device: deviceId(1), source: 'pv', wh: noon },
      { device: deviceId(2), source: 'load', wh: { '2026-06-01T10:00:00Z': 200 }, unlistedWh: 10 },
    ],
  );
  const ask = (resolution: string) =>
    at.ask(`balance?startDate=2026-06-01&endDate=2026-06-02&resolution=${resolution}`);
  const answerOf = async (title: string) => {
    const recipe = recipes.find((one) => one.title === title)!;
    return (await askRecipe(lakePaths(at.lakeDir, WORKGROUP).root, recipe)).rows;
  };
  const percent = (rate: unknown) => (rate === null ? null : expect.closeTo(100 * (rate as number), 1));
  const kwh = (wh: unknown) => (wh === null ? null : (wh as number) / 1_000);

  const selfConsumption = await answerOf('Self-consumption');
  expect(selfConsumption).toEqual(
    Object.entries(await ask('day')).map(([day, told]) => ({
      day,
      production_kwh: kwh(told.productionWh),
      self_consumed_kwh: kwh(told.selfConsumptionWh),
      self_consumption_percent: percent(told.selfConsumptionRate),
      consumption_kwh: kwh(told.consumptionWh),
      own_supply_kwh: kwh(told.selfSupplyWh),
      autarky_percent: percent(told.autarky),
      coverage: 1,
    })),
  );
  // 200 and 10 of 1,500 at noon, and nothing else.
  expect(selfConsumption[0]).toMatchObject({
    production_kwh: 1.5,
    self_consumed_kwh: 0.21,
    consumption_kwh: 1.15,
  });

  expect(await answerOf('Balance of a month')).toEqual(
    Object.entries(await ask('month')).map(([month, told]) => ({
      month: `${month}-01`,
      days: told.days,
      complete_days: told.completeDays,
      production_kwh: kwh(told.productionWh),
      import_kwh: kwh(told.gridImportWh),
      export_kwh: kwh(told.gridExportWh),
      charge_kwh: kwh(told.batteryChargeWh),
      discharge_kwh: kwh(told.batteryDischargeWh),
      consumption_kwh: kwh(told.consumptionWh),
      residual_kwh: kwh(told.residualWh),
      specific_yield: told.specificYield,
    })),
  );

  const perDay = Object.entries(await ask('interval'));
  const power = (field: string, time: string) =>
    Math.round(
      4 *
        mean(
          perDay.flatMap(([start, told]) =>
            localTime(Date.parse(start)).slice(11, 16) === time ? [told[field] as number] : [],
          ),
        ),
    );
  const average = await answerOf('Average day of a site');
  expect(average).toHaveLength(96);
  for (const row of average) {
    const time = row.quarter_hour as string;
    expect(row).toEqual({
      quarter_hour: time,
      production_w: power('productionWh', time),
      consumption_w: power('consumptionWh', time),
      import_w: power('gridImportWh', time),
      export_w: power('gridExportWh', time),
      intervals: 2,
    });
  }
});

/** The first row that is not what it has to be. */
function differences(found: readonly Row[], rows: readonly Row[]): string[] {
  if (found.length !== rows.length) return [`${found.length} rows instead of ${rows.length}`];
  const at = found.findIndex((row, index) => {
    try {
      expect(row).toEqual(rows[index]);
      return false;
    } catch {
      return true;
    }
  });
  return at < 0 ? [] : [`row ${at} is ${JSON.stringify(found[at])} instead of ${JSON.stringify(rows[at])}`];
}

/** The values of an answer by days, in the order of day and key. */
function valuesOf(details: Details): Array<Detail & { day: string; key: string }> {
  return Object.entries(details).flatMap(([day, values]) =>
    Object.entries(values).map(([key, value]) => ({ day, key, ...value })),
  );
}

function seriesOf(key: string): { device: string; source: string } {
  const [device = '', source = ''] = key.split('.');
  return { device, source };
}

/** As a clock of the zone shows it. */
function localTime(ms: number): string {
  return new Date(ms).toLocaleString('sv', { timeZone: timezone });
}

/** As DuckDB writes an instant in UTC. */
function instantText(iso: string): string {
  return iso.replace('T', ' ').replace('.000Z', '+00');
}

function leastCoverage(missing: ReadonlyArray<{ reason: string }>): number {
  const shares = missing.map(({ reason }) => Number(/cover ([\d.]+) %/.exec(reason)?.[1] ?? 100) / 100);
  return Math.min(...shares);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function bitOf(flag: string): number {
  return flagBits[flag as keyof typeof flagBits];
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
