// @module-tag slow
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { explain, series } from './explained-page.ts';

/** The hours of two days. */
const hours = Array.from({ length: 48 }, (_, index) => index - 24);
/** One on each of three days four weeks before, and two of the day after. */
const otherHours = [-29 * 24, -28 * 24, -27 * 24, 24, 25];
const valuesOf = {
  total: (hour: number) => 10_000_000 + 2_400 * hour,
  configured: (hour: number) => 10_000_000 + 2_400 * hour,
  today: (hour: number) => 1_200 * (((hour % 24) + 24) % 24),
  power: () => 12_000,
  average: () => 24_000,
  hour: () => 6_000,
};

test('the limits of a rolled-up day are learnt from it, the 27 days before and the day after, and are those that are configured', async () => {
  const shard = await openTestShard();
  const configured = { maxPower: '60 kW', jitter: '7 Wh', modulus: 99_999_999 };
  const streams = [
    { table: 't', field: 'total', method: 'total_energy' },
    { table: 't', field: 'configured', method: 'total_energy', ...configured },
    { table: 't', field: 'today', method: 'daily_energy' },
    { table: 't', field: 'power', method: 'power_curve' },
    { table: 't', field: 'average', method: 'power_curve', sampling: 'interval_average' },
    { table: 't', field: 'hour', method: 'interval_energy' },
  ] as const;
  await landReadings(
    shard,
    Object.entries(valuesOf).flatMap(([field, valueAt]) =>
      series(
        field,
        field,
        [...hours, ...(field === 'total' ? otherHours : [])].map((hour) => [hour, valueAt(hour)]),
      ),
    ),
  );
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const { explained } = await explain(shard);
  const limits = Object.fromEntries(explained.sources.map((one) => [one.source, one.limits!]));
  const valuesIn = (source: string) =>
    Object.fromEntries(
      Object.entries(limits[source]!).flatMap(([name, { value, from }]) =>
        from === 'none' ? [] : [[name, `${value} ${from}`]],
      ),
    );
  expect(Object.fromEntries(Object.keys(limits).map((source) => [source, valuesIn(source)]))).toEqual({
    // 2400 W are 4096 W, rounded up to a power of two, and 32 times as much is possible.
    total: { maxPowerW: '131072 learnt', jitterWh: '200 learnt', resolutionWh: '100 learnt' },
    configured: { maxPowerW: '60000 configured', jitterWh: '7 configured', modulusWh: '99999999 configured' },
    today: { maxPowerW: '65536 learnt', jitterWh: '200 learnt', resolutionWh: '100 learnt' },
    // A quarter of 12 kW is rounded up to 4096 W.
    power: { maxPowerW: '131072 learnt', maxGapMilliseconds: `${1.5 * HOUR_MS} learnt` },
    average: { maxPowerW: '262144 learnt', intervalMilliseconds: `${HOUR_MS} learnt` },
    hour: { maxPowerW: '65536 learnt', intervalMilliseconds: `${HOUR_MS} learnt` },
  });
  expect(limits.total!.resolutionWh.text).toBe('learnt from 4 days, 2026-06-04 to 2026-07-02 (UTC)');
  // After a restart, 4 times the usual 2048 W are possible.
  expect(limits.today!.maxPowerW.text).toContain(
    'after a restart 8,192 W; learnt from 2 days, 2026-06-30 to 2026-07-01 (UTC)',
  );
});
