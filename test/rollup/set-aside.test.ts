import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { explainDay } from '../../src/explain/explain-day.ts';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { isSoak, sampled } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import { energyRows, landReadings, rollUpSite } from './rollup-fixture.ts';

/**
 * These tests write a reading into the tables that no message can bring any more: an older version accepted
 * it, and each statement that computes whole Wh from it throws.
 */

const site = {
  timezone: 'Etc/UTC',
  streams: [
    { table: 't', field: 'total', method: 'total_energy' as const, register: 'net' as const },
    {
      table: 't',
      field: 'power',
      method: 'power_curve' as const,
      sampling: 'on_change' as const,
      maxPower: '1 GW',
    },
  ],
};
const START_MS = Date.UTC(2026, 10, 20);

/** Hourly readings of devices, from an hour on. */
function post(devices: readonly number[], hours: readonly number[], fields: readonly string[] = ['total']) {
  return devices.flatMap((device) =>
    hours.map((hour) => ({
      event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
      device: deviceOf(device),
      data: Object.fromEntries(fields.map((field) => [field, field === 'total' ? 1_000 * hour : 1_000])),
    })),
  );
}

/**
 * Replaces a stored reading of a device by a reading that cannot be computed. It is of a register that may
 * fall, because no reading of such a register is left out.
 */
async function poison(shard: Shard, device: number, hour: number): Promise<void> {
  await rowsOf(
    shard,
    `UPDATE reading SET value = 1e300 WHERE event_time_ms = ${START_MS + hour * HOUR_MS} AND series_id = (
       SELECT series_id FROM series JOIN energy_stream USING (stream_id)
       WHERE device = '${deviceOf(device)}' AND (identity->>'field') = 'total')`,
  );
}

const daysOf = (shard: Shard, device: number) =>
  rowsOf(
    shard,
    `SELECT day::VARCHAR AS day, energy_wh::INTEGER AS wh, method, flags & 65536 > 0 AS unavailable
     FROM daily_energy WHERE device = '${deviceOf(device)}' ORDER BY day`,
  );
const asideOf = (shard: Shard) =>
  rowsOf(shard, 'SELECT device::VARCHAR AS device, source, error FROM set_aside ORDER BY ALL');

test('a series whose roll-up fails is set aside alone: the others are computed in the same call, and its days are flagged, until other rules or settings try it again and reject the stored poison', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  // find-failing-series.test.ts has many series, and several of them fail.
  const devices = [1, 2, 3];
  await landReadings(shard, post(devices, [0, 1, 2]));
  await rollUpSite(shard, site);
  await poison(shard, 2, 2);
  await landReadings(shard, post(devices, [3, 4]));
  await rollUpSite(shard, site);
  for (const device of [1, 3])
    expect(await daysOf(shard, device)).toMatchObject([{ wh: 4_000, unavailable: false }]);
  // What was stored before is still there, and does not look well.
  expect(await daysOf(shard, 2)).toMatchObject([{ wh: 2_000, unavailable: true }]);
  const aside = await asideOf(shard);
  expect(aside.map(({ device }) => device)).toEqual([deviceOf(2)]);
  expect(aside[0]!.error).toMatch(/^a number is beyond what can be computed \(in \w+\)$/);
  const explained = await shard.read((connection) =>
    explainDay(
      connection,
      { device: deviceOf(2), day: '2026-11-20' },
      {
        workgroup: configSchema.parse({ workgroups: [{ id: 'acme' }] }).workgroups[0]!,
        nowMs: Date.UTC(2030, 0, 1),
        closeAfterMs: 2 * DAY_MS,
      },
    ),
  );
  expect(explained.sources[0]!.flags).toMatchObject([
    { flag: 'partial' },
    { flag: 'unavailable', reason: expect.stringContaining('set aside') },
  ]);
  expect(explained.sources[0]!.readings).toHaveLength(5);
  // Its readings are kept.
  expect(await rowsOf(shard, 'SELECT count(*)::INTEGER AS n FROM reading')).toEqual([{ n: 15 }]);
  // The next roll-ups leave it set aside, and change nothing if no new reading comes.
  await landReadings(shard, post(devices, [5]));
  await rollUpSite(shard, site);
  expect(await daysOf(shard, 1)).toMatchObject([{ wh: 5_000 }]);
  const versions = await rowsOf(shard, 'SELECT count(*)::INTEGER AS n FROM daily_energy_history');
  expect(await rollUpSite(shard, site)).toMatchObject({ days: 0 });
  await rollUpSite(shard, site);
  expect(await rowsOf(shard, 'SELECT count(*)::INTEGER AS n FROM daily_energy_history')).toEqual(versions);
  const [net, power] = site.streams;
  await rollUpSite(shard, { ...site, streams: [{ ...net!, boundary: 'within_day' as const }, power!] });
  expect(await asideOf(shard)).toEqual([]);
  expect(await daysOf(shard, 2)).toMatchObject([{ wh: 5_000, unavailable: false }]);
});

test('a series that another version set aside is computed again from its first reading on', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await landReadings(shard, post([2], [0, 1, 30]));
  await rollUpSite(shard, site);
  const computed = await energyRows(shard);
  await rowsOf(
    shard,
    "INSERT INTO set_aside SELECT stream_id, device, source, 0 AS since_ms, '' AS error, '0.0.1' AS version FROM series",
  );
  await rollUpSite(shard, site);
  expect(await asideOf(shard)).toEqual([]);
  expect(await energyRows(shard)).toEqual(computed);
});

// The stored interval below is tried again, too, and the first test compares what other settings compute.
test.runIf(isSoak)(
  'a series is tried again on demand, with other settings and with another version, and then has the same rows as without a failure',
  async () => {
    const shard = await openTestShard();
    const whole = await openTestShard();
    for (const one of [shard, whole]) await landReadings(one, post([2], [0, 1, 2, 30, 31]));
    for (const one of [shard, whole]) await rollUpSite(one, site);
    let hour = 40;
    // A demand leaves no version. Both differ from the present version, so the soak has both.
    for (const version of sampled(['0.0.1', ''], 2)) {
      const change = () => rowsOf(shard, `UPDATE set_aside SET program_version = '${version}'`);
      // No day of the calendar is as late as this.
      await rowsOf(shard, `UPDATE series SET last_ms = 9223372036854775807 WHERE device = '${deviceOf(2)}'`);
      for (const one of [shard, whole]) await landReadings(one, post([2], [hour, hour + 30]));
      for (const one of [shard, whole]) await rollUpSite(one, site);
      expect(await asideOf(shard)).toMatchObject([{ device: deviceOf(2) }]);
      // It is tried again, fails, and stays aside.
      await change();
      await rollUpSite(shard, site);
      expect(await asideOf(shard)).toMatchObject([{ device: deviceOf(2) }]);
      await rowsOf(
        shard,
        'UPDATE series SET last_ms = (SELECT max(event_time_ms) FROM reading r WHERE r.series_id = series.series_id)',
      );
      await change();
      await rollUpSite(shard, site);
      expect(await asideOf(shard)).toEqual([]);
      expect(await energyRows(shard)).toEqual(await energyRows(whole));
      hour += 40;
    }
    const causes = await rowsOf(
      shard,
      "SELECT count(*) > 0 AS has FROM daily_energy_history WHERE list_contains(causes, 'retried')",
    );
    expect(causes).toEqual([{ has: true }]);
  },
);

// The first test has the flag of such days, and golden cases have days that are read from another field.
test.runIf(isSoak)(
  'new days are read from another field of the same source, flagged that the first one is missing',
  async () => {
    const shard = await openTestShard();
    await landReadings(shard, post([1, 2], [0, 1, 2], ['total', 'power']));
    await rollUpSite(shard, site);
    await poison(shard, 1, 2);
    await landReadings(shard, post([1, 2], [26, 27, 28], ['total', 'power']));
    await rollUpSite(shard, site);
    expect(await daysOf(shard, 1)).toEqual([
      { day: '2026-11-20', wh: 2_000, method: 'total_energy', unavailable: true },
      { day: '2026-11-21', wh: 4_000, method: 'power_curve', unavailable: true },
    ]);
    expect(await daysOf(shard, 2)).toMatchObject([
      { day: '2026-11-20', method: 'total_energy', unavailable: false },
      { day: '2026-11-21', method: 'total_energy', unavailable: false },
    ]);
  },
);

// The test above has a failing field that counts.
test.runIf(isSoak)('a failing field that does not count leaves the day unchanged', async () => {
  const shard = await openTestShard();
  const turned = { ...site, streams: [site.streams[1]!, site.streams[0]!] };
  await landReadings(shard, post([1], [0, 1, 2], ['total', 'power']));
  await rollUpSite(shard, turned);
  await poison(shard, 1, 1);
  await landReadings(shard, post([1], [1.5, 3], ['total', 'power']));
  await rollUpSite(shard, turned);
  expect(await asideOf(shard)).toMatchObject([{ device: deviceOf(1) }]);
  expect(await daysOf(shard, 1)).toMatchObject([{ wh: 3_000, method: 'power_curve', unavailable: false }]);
});

test('a stored interval near the end of its range sets its own series aside, which is computed anew when it is tried again', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await landReadings(shard, post([2, 3], [0, 1, 2]));
  await rollUpSite(shard, site);
  await rowsOf(
    shard,
    `INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, covered_ms, flags)
     SELECT series_id, ${START_MS + 10 * HOUR_MS} + 900000 * i, 9000000000000000000, 1, 0 FROM series, range(2) t(i) WHERE device = '${deviceOf(2)}'`,
  );
  await landReadings(shard, post([2, 3], [3]));
  await rollUpSite(shard, site);
  expect(await asideOf(shard)).toMatchObject([{ device: deviceOf(2) }]);
  expect(await daysOf(shard, 3)).toMatchObject([{ wh: 3_000 }]);
  await rowsOf(shard, "UPDATE set_aside SET program_version = ''");
  await rollUpSite(shard, site);
  expect(await asideOf(shard)).toEqual([]);
  expect(await daysOf(shard, 2)).toMatchObject([{ wh: 3_000, unavailable: false }]);
});

test('a failure that does not depend on a series is thrown, and sets nothing aside', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await landReadings(shard, post([1], [0, 1]));
  await rollUpSite(shard, site);
  await rowsOf(shard, 'ALTER TABLE dirty_partition RENAME TO renamed');
  await landReadings(shard, post([1], [2]));
  await expect(rollUpSite(shard, site)).rejects.toThrow('dirty_partition');
  expect(await asideOf(shard)).toEqual([]);
  await rowsOf(shard, 'ALTER TABLE renamed RENAME TO dirty_partition');
  await rollUpSite(shard, site);
  expect(await daysOf(shard, 1)).toMatchObject([{ wh: 2_000 }]);
});

test('a worker whose shard was taken stops at the first transaction, and sets nothing aside', async () => {
  const shard = await openTestShard();
  await landReadings(shard, post([1], [0, 1]));
  await rowsOf(shard, 'UPDATE shard SET owner_epoch = owner_epoch + 1');
  let transactions = 0;
  const counted: Shard = {
    ...shard,
    transaction(...parameters) {
      transactions++;
      return shard.transaction(...parameters);
    },
  };
  await expect(rollUpSite(counted, site)).rejects.toThrow(StaleOwnerError);
  expect(transactions).toBe(1);
  expect(await asideOf(shard)).toEqual([]);
});

test('batches before the failing one are rolled up first', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  await landReadings(shard, post([1, 2], [0, 1, 2, 3]));
  await rollUpSite(shard, site);
  await poison(shard, 2, 3);
  for (const hour of sampled([4, 5, 6], 3)) await landReadings(shard, post([1], [hour]));
  await landReadings(shard, post([1, 2], [7]));
  const first = await rollUpSite(shard, site);
  expect(first).toMatchObject({ more: true });
  expect(await asideOf(shard)).toEqual([]);
  while ((await rollUpSite(shard, site)).more);
  expect(await asideOf(shard)).toMatchObject([{ device: deviceOf(2) }]);
  expect(await daysOf(shard, 1)).toMatchObject([{ wh: 7_000 }]);
});
