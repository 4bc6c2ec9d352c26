// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SourceRole } from '../../src/roles/role.ts';
import { isSoak } from '../support/rounds.ts';
import { openConnection } from './balance-fixture.ts';
import { type OracleInterval, oracleInterval, sumOf } from './balance-oracle.ts';
import {
  balanceSites,
  DAYS,
  INTERVALS_A_DAY,
  ownDays,
  type RandomSite,
  type Row,
  siteArbitrary,
} from './sites.ts';

/** Sites of one round, which are balanced by one statement. */
const SITES = isSoak ? 80 : 40;
const ROUNDS = isSoak ? 4 : 1;
const sites = (gaps: boolean) => fc.array(siteArbitrary({ gaps }), { minLength: SITES, maxLength: SITES });
const rounds = { numRuns: ROUNDS, endOnFailure: true };

const fields: ReadonlyArray<readonly [column: string, of: (one: OracleInterval) => number | null]> = [
  ...(
    [
      'production',
      'consumption',
      'grid_import',
      'grid_export',
      'battery_charge',
      'battery_discharge',
    ] as const
  ).map((role) => [`${role}_wh`, (one: OracleInterval) => one.roles[role]] as const),
  ['residual_wh', (one) => one.residual],
  ['grid_net_wh', (one) => one.gridNet],
  ['self_consumption_wh', (one) => one.selfConsumption],
  ['self_supply_wh', (one) => one.selfSupply],
  ['grid_to_battery_wh', (one) => one.gridToBattery],
  ['battery_to_grid_wh', (one) => one.batteryToGrid],
];

/** The flags that do not depend on the tolerance. */
const structural = (flags: unknown) =>
  (flags as string[]).filter((flag) => !['noise', 'imbalance', 'grid_cycled'].includes(flag));

function flagsOf(intervals: readonly OracleInterval[], isInterval: boolean): string[] {
  const any = (of: (one: OracleInterval) => boolean) => intervals.some(of);
  return [
    !isInterval && any(({ missing }) => missing.length > 0) ? ['incomplete'] : [],
    any(({ netted }) => netted) ? ['netted'] : [],
    any(({ shapeless }) => shapeless) ? ['shape_unknown'] : [],
    any(({ undetermined }) => undetermined) ? ['undetermined'] : [],
  ].flat();
}

const union = (lists: readonly SourceRole[][]) => [...new Set(lists.flat())].sort();

test('every interval and day agrees with the oracle, for any declared roles and known energy', async () => {
  const connection = await openConnection();
  await fc.assert(
    fc.asyncProperty(sites(true), async (all) => {
      const told = await balanceSites(connection, all, 'interval');
      const days = await balanceSites(connection, all, 'day');
      expect([told.length, days.length]).toEqual([
        SITES * DAYS.length * INTERVALS_A_DAY,
        SITES * DAYS.length,
      ]);
      const compare = (row: Row, intervals: OracleInterval[], isInterval: boolean) => {
        const expected = {
          ...Object.fromEntries(fields.map(([column, of]) => [column, sumOf(intervals, of)])),
          missing: union(intervals.map((one) => one.missing)),
          computed: union(intervals.map((one) => one.computed)),
          flags: flagsOf(intervals, isInterval),
        };
        const found = { ...row, flags: structural(row.flags) };
        expect(found, `site ${row.site}, ${row.period}: ${JSON.stringify(all[row.site])}`).toMatchObject(
          expected,
        );
      };
      for (const [index, row] of told.entries())
        compare(row, [oracleInterval(all[row.site]!, index % (DAYS.length * INTERVALS_A_DAY))], true);
      for (const [index, row] of days.entries()) {
        const from = (index % DAYS.length) * INTERVALS_A_DAY;
        const intervals = Array.from({ length: INTERVALS_A_DAY }, (_, at) =>
          oracleInterval(all[row.site]!, from + at),
        );
        compare(row, intervals, false);
      }
    }),
    rounds,
  );
});

const left = (row: Row, names: string[]) => names.map((name) => row[`${name}_wh`] as number | null);
const sum = (list: ReadonlyArray<number | null>) =>
  list.reduce<number>((total, one) => total + (one ?? Number.NaN), 0);

const resolutions = ['interval', 'day', 'month', 'year'] as const;
/** All of them in the soak. Otherwise one, a different one for each zone. */
const sampledFrom = (index: number) => (isSoak ? resolutions : [resolutions[index % 4]!]);

/** The days of three zones: those of the site, days that begin at other times, and one long day. */
const zones = [
  ownDays,
  [
    ['2025-06-29', 0, 2],
    ['2025-06-30', 2, 9],
    ['2025-07-01', 9, 12],
  ],
  [['2025-07-01', 0, 12]],
] as const;

test('energy in equals energy out plus the rest, in every interval, day, month and zone', async () => {
  const connection = await openConnection();
  await fc.assert(
    fc.asyncProperty(sites(true), async (all) => {
      let known = 0;
      // In npm test each zone has some of them.
      for (const [index, zone] of zones.entries()) {
        for (const resolution of sampledFrom(index)) {
          for (const row of await balanceSites(connection, all, resolution, zone)) {
            const into = left(row, ['production', 'grid_import', 'battery_discharge']);
            const out = left(row, ['consumption', 'grid_export', 'battery_charge', 'residual']);
            if ([...into, ...out].includes(null)) continue;
            known += 1;
            expect(sum(into), `site ${row.site}, ${row.period}`).toBe(sum(out));
          }
        }
      }
      expect(known).toBeGreaterThan(SITES);
    }),
    { ...rounds, numRuns: isSoak ? 2 : 1 },
  );
});

test('a complete range adds up to the same in every zone', async () => {
  const connection = await openConnection();
  await fc.assert(
    fc.asyncProperty(sites(false), async (all) => {
      const totals: unknown[] = [];
      for (const zone of zones) {
        const rows = await balanceSites(connection, all, 'day', zone);
        const bySite = [...Map.groupBy(rows, ({ site }) => site)];
        totals.push(bySite.map(([site, days]) => [site, ...fields.map(([column]) => totalOf(days, column))]));
      }
      expect(totals[1]).toEqual(totals[0]);
      expect(totals[2]).toEqual(totals[0]);
    }),
    { ...rounds, numRuns: isSoak ? 2 : 1 },
  );
});

/** The sum of a field of several days; null where it is null on one of them. */
function totalOf(days: readonly Row[], column: string): number | null {
  const values = days.map((day) => day[column] as number | null);
  return values.includes(null) ? null : sum(values);
}

/** The answer about a site, without the names of its sources. */
const told = ({ scope_id: _, rest: __, ...row }: Row) => row;

test('the order of sources, and splitting one of them in two, change nothing', async () => {
  const connection = await openConnection();
  await fc.assert(
    fc.asyncProperty(sites(true), fc.integer({ min: 0, max: 1_000 }), async (all, seed) => {
      const plain = all.map((site) => ({
        ...site,
        sources: site.sources.map((source) => ({ ...source, within: undefined })),
      }));
      const turned = plain.map((site) => ({ ...site, sources: site.sources.toReversed() }));
      const split = plain.map((site, index) => splitSource(site, (seed + index) % site.sources.length));
      const rows = (await balanceSites(connection, plain, 'day')).map(told);
      expect((await balanceSites(connection, turned, 'day')).map(told)).toEqual(rows);
      expect((await balanceSites(connection, split, 'day')).map(told)).toEqual(rows);
    }),
    { ...rounds, numRuns: isSoak ? 2 : 1 },
  );
});

/** Two sources instead of one, each with a part of every interval that has the sign of the whole. */
function splitSource(site: RandomSite, at: number): RandomSite {
  const one = site.sources[at]!;
  const part = (wh: number | null) => (wh === null ? null : Math.trunc(wh / 3));
  const first = { ...one, wh: one.wh.map(part) };
  const second = {
    ...one,
    source: 'second',
    wh: one.wh.map((wh) => (wh === null ? null : wh - part(wh)!)),
  };
  return { ...site, sources: [...site.sources.toSpliced(at, 1, first), second] };
}
