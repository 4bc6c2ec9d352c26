import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { joinToFewStretches } from '../../src/rollup/find-stretches.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { isSoak } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, type EnergySite, landReadings, rollUpSite } from './rollup-fixture.ts';

const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [
    { table: 't', field: 'wh', method: 'total_energy', unit: 'Wh', maxPower: '10 kW', jitter: '1 Wh' },
  ],
};

function at(day: string, wh: number): CaseReading {
  return { event_time: `${day}T10:00:00Z`, data: { wh } };
}

function daysOf(shard: Shard) {
  return rowsOf(
    shard,
    'SELECT day::VARCHAR AS day, energy_wh, flags, coverage FROM daily_energy ORDER BY day',
  );
}

test('readings that are days apart are looked at in few stretches, which hold all of them and stay apart', () => {
  const sortedDays = fc
    .array(fc.record({ from: fc.nat(4_000), days: fc.nat(3) }), { maxLength: 60 })
    .map((days) => days.toSorted((one, other) => one.from - other.from));
  fc.assert(
    fc.property(sortedDays, (days) => {
      const rows = days.map(({ from, days }) => ({
        low_ms: BigInt(from * DAY_MS),
        high_ms: BigInt((from + days) * DAY_MS),
      }));
      const stretches = joinToFewStretches(rows);
      expect(stretches.length).toBeLessThanOrEqual(8);
      for (const row of rows) {
        const holding = stretches.filter(
          ({ lowMs, highMs }) => lowMs <= Number(row.low_ms) && highMs >= Number(row.high_ms),
        );
        expect(holding).toHaveLength(1);
      }
      for (const [index, { lowMs }] of stretches.slice(1).entries()) {
        expect(lowMs - stretches[index]!.highMs).toBeGreaterThan(2 * DAY_MS);
      }
    }),
  );
});

// The next test has silent years, and rollup-properties.test.ts compares parts with the whole.
test.runIf(isSoak)(
  'years of rare readings, and clocks that restart in 2021, give the same rows in one call and in a call for each reading',
  async () => {
    // A meter that is read every few weeks; and a device that says 2021 now and then, where it has counted
    // on.
    const rare = Array.from({ length: 12 }, (_, index) => {
      const day = new Date(Date.UTC(2023, 0, 1 + index * (18 + (index % 5)))).toISOString().slice(0, 10);
      return at(day, 100_000 + 2_000 * index);
    });
    const restarted = ['2021-01-01', '2019-01-04', '2019-01-09'].map((day, index) => at(day, 90_000 + index));
    const parts = [rare.slice(0, 2), [restarted[1]!], rare.slice(2), [restarted[0]!, restarted[2]!]];

    const pieces = await openTestShard();
    for (const part of parts) {
      await landReadings(pieces, part);
      await rollUpSite(pieces, site);
    }

    const whole = await openTestShard();
    await landReadings(whole, parts.flat());
    await rollUpSite(whole, site);
    expect(await daysOf(pieces)).toEqual(await daysOf(whole));
  },
);

test('many silent years that are computed in parts give the same rows', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  const device = (index: number) => `00000000-0000-4000-8000-00000000000${index}`;
  // A glitch before the silence of eleven years, and a restart after it; the last device has none, and begins
  // before.
  const faulty = [
    ...[at('2015-03-01', 90_000), at('2015-03-02', 0), at('2015-03-03', 91_000)],
    ...[at('2026-06-01', 500_000), at('2026-06-02', 40), at('2026-06-03', 1_040)],
  ];
  const clean = [at('2014-06-01', 89_000), at('2026-06-03', 489_000)];
  const readings = [faulty, faulty, faulty, faulty, faulty, clean].flatMap((own, index) =>
    own.map((reading) => ({ ...reading, device: device(index) })),
  );
  // The first roll-up of a stream looks at all days, whatever was computed.
  await landReadings(shard, [{ ...at('2026-06-03', 1), device: device(9) }]);
  await rollUpSite(shard, site);
  await landReadings(shard, readings);
  await rollUpSite(shard, site);
  const sums = await rowsOf(
    shard,
    'SELECT sum(energy_wh)::INTEGER AS wh, count(*)::INTEGER AS days FROM daily_energy GROUP BY device ORDER BY device',
  );
  const daysSince = (day: string) => (Date.parse('2026-06-04') - Date.parse(day)) / DAY_MS;
  const faultySum = { wh: 410_000 + 40 + 1_000, days: daysSince('2015-03-01') };
  expect(sums).toEqual([...Array(5).fill(faultySum), { wh: 400_000, days: daysSince('2014-06-01') }]);
});

// rollup-properties.test.ts compares parts with the whole for such registers.
test.runIf(isSoak)(
  'a midnight value of a daily register is computed again if a later reading makes that value a spike',
  async () => {
    const beside: EnergySite = {
      timezone: 'Etc/UTC',
      streams: [
        ...site.streams,
        { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh', maxPower: '10 kW', jitter: '1 Wh' },
      ],
    };
    const parts: CaseReading[][] = [
      [
        { event_time: '2024-06-01T20:00:00Z', data: { wh: 18_000, today: 8_000 } },
        { event_time: '2024-06-02T08:05:00Z', data: { wh: 18_900, today: 900_000 } },
      ],
      [{ event_time: '2024-06-02T08:15:00Z', data: { wh: 18_910, today: 50 } }],
    ];
    const [after, atOnce] = [await openTestShard(), await openTestShard()];
    for (const part of parts) {
      await landReadings(after, part);
      await rollUpSite(after, beside);
    }
    await landReadings(atOnce, parts.flat());
    await rollUpSite(atOnce, beside);
    expect(await daysOf(after)).toEqual(await daysOf(atOnce));
  },
);
