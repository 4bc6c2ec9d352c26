import { expect } from 'vitest';
import { INTERVAL_MS } from '../../src/lib/time.ts';
import type { DayChange } from '../../src/report/day-changes.ts';
import type { Reconciliation } from '../../src/report/reconciliation.ts';
import type { Variance } from '../../src/report/variance.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { deviceId } from '../support/messages.ts';
import { days, type PlantFixture, range, timezone } from './plant.ts';

export type Row = Record<string, unknown>;
export type Details = Record<string, Record<string, Detail>>;
export interface Detail {
  energyWh: number | null;
  methods: string[];
  flags: string[];
  coverage: number;
  status: string;
  version: number;
}
export type Profiles = Record<string, { start: string; energyWh: Record<string, Array<number | null>> }>;

/** What each query has to answer, from the endpoints alone, in its order. */
export const expected: Record<string, (at: PlantFixture) => Promise<Row[]>> = {
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
          // A part of the sources would give too little energy.
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
  'lake.md: Energy of each day in kWh by the names of devices, with method, coverage, flags, status and version.':
    async (at) => {
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
export const notCompared = [
  'Self-consumption',
  'Balance of a month',
  'Average day of a site',
  'Export to CSV',
  'What was done',
  'What people corrected',
  'Everything that was received',
];

/** The values of an answer by days, in the order of day and key. */
export function valuesOf(details: Details): Array<Detail & { day: string; key: string }> {
  return Object.entries(details).flatMap(([day, values]) =>
    Object.entries(values).map(([key, value]) => ({ day, key, ...value })),
  );
}

export function seriesOf(key: string): { device: string; source: string } {
  const [device = '', source = ''] = key.split('.');
  return { device, source };
}

/** As a clock of the zone shows it. */
export function localTime(ms: number): string {
  return new Date(ms).toLocaleString('sv', { timeZone: timezone });
}

/** As DuckDB writes an instant in UTC. */
export function instantText(iso: string): string {
  return iso.replace('T', ' ').replace('.000Z', '+00');
}

export function leastCoverage(missing: ReadonlyArray<{ reason: string }>): number {
  const shares = missing.map(({ reason }) => Number(/cover ([\d.]+) %/.exec(reason)?.[1] ?? 100) / 100);
  return Math.min(...shares);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

export function bitOf(flag: string): number {
  return flagBits[flag as keyof typeof flagBits];
}

export function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
