// @module-tag slow
import { expect, test } from 'vitest';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, systemClock } from '../../src/lib/time.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';
import { statementsOf } from './statements-of.ts';

const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy' }],
};
const at = (minute: number, total: number) => ({
  event_time: new Date(Date.UTC(2026, 10, 20, 10, minute)).toISOString(),
  data: { total },
});

test('a roll-up with nothing to do runs no statement, until something is written', async () => {
  const lakeDir = tempDir();
  const shard = await openTestShard({ folders: [lakeDir] });
  const isIdle = async (own = site, nowMs?: number) =>
    (await statementsOf(() => rollUpSite(shard, own, nowMs))) === 0;
  expect(await isIdle()).toBe(false);
  await landReadings(shard, [at(0, 100), at(5, 150)]);
  const first = await rollUpSite(shard, site);
  expect(await isIdle()).toBe(true);
  expect(await rollUpSite(shard, site)).toEqual({ ...first, readings: 0, days: 0 });

  await publishAndRenew(shard, { lakeDir, clock: systemClock, logger: silentLogger });
  // Publishing connects to write its views, but this is no work for the roll-up.
  await rollUpSite(shard, site);
  await publishAndRenew(shard, { lakeDir, clock: systemClock, logger: silentLogger });
  expect(await isIdle()).toBe(true);

  await landReadings(shard, [at(10, 180)]);
  expect(await isIdle()).toBe(false);
  expect(await energyByDay(shard)).toEqual({ '2026-11-20': 80 });
  await rollUpSite(shard, site);
  expect(await isIdle()).toBe(true);

  // The same configuration in another object, then another one.
  expect(await isIdle({ ...site })).toBe(true);
  expect(await isIdle({ ...site, timezone: 'Europe/Paris' })).toBe(false);
  expect(await isIdle()).toBe(false);
  // Another day is final.
  expect(await isIdle(site, Date.UTC(2030, 0, 1) + DAY_MS)).toBe(false);
});

// npm run bench -- rollup-cost counts them, too, and the test above has a roll-up without any.
test.runIf(isSoak)(
  'a late reading runs at most 40 statements, also after a roll-up that failed',
  async () => {
    const shard = await openTestShard();
    const minutes = Array.from({ length: 24 * 12 }, (_, index) => 5 * index);
    await landReadings(
      shard,
      minutes.map((minute) => at(minute, 100 + minute)),
    );
    await rollUpSite(shard, site);
    const late = async (minute: number) => {
      await landReadings(shard, [at(minute, 100 + minute)]);
      return statementsOf(() => rollUpSite(shard, site));
    };
    // The first one binds the settings again, because a connection that has rolled up so much is not kept.
    await late(601);
    expect(await late(702)).toBeLessThanOrEqual(40);
    await expect(
      shard.transaction(() => Promise.reject(new Error('no')), { keep: () => true }),
    ).rejects.toThrow('no');
    await late(803);
    expect(await late(904)).toBeLessThanOrEqual(40);
    expect(Object.values(await energyByDay(shard)).reduce((sum, wh) => sum + wh, 0)).toBe(1_435);
  },
);

test('the roll-up after a restatement keeps the bound settings, and restates nothing', async () => {
  const shard = await openTestShard();
  await landReadings(shard, [at(0, 100), at(5, 150)]);
  const first = await statementsOf(() => rollUpSite(shard, site));
  await landReadings(shard, [at(10, 170)]);
  // Binding takes 13 statements.
  expect(await statementsOf(() => rollUpSite(shard, site))).toBeLessThan(first - 30);
  const restated = await shard.transaction(
    async (connection) => (await connection.runAndReadAll('FROM restated_stream')).getRows(),
    { keep: () => true },
  );
  expect(restated).toEqual([]);
  expect(await energyByDay(shard)).toEqual({ '2026-11-20': 70 });
});

test('days are closed by the first roll-up after midnight, and not looked for by the others of its day', async () => {
  const shard = await openTestShard();
  const startMs = Date.UTC(2030, 0, 1);
  const rollUpAt = async (minute: number, nowMs: number) => {
    await landReadings(shard, [at(minute, 100 + minute)]);
    await rollUpSite(shard, site, nowMs);
    return rowsOf(shard, "SELECT status FROM daily_energy WHERE source = 'open'");
  };
  await rollUpAt(0, startMs);
  await rowsOf(
    shard,
    `INSERT INTO daily_energy BY NAME SELECT DATE '2020-01-01' AS day, uuid() AS device, 'open' AS source, 1 AS energy_wh,
       'total_energy' AS method, 1 AS stream_id, 0 AS flags, 1 AS coverage, 'provisional' AS status, 1 AS version,
       0 AS computed_at_ms, 1 AS batch_id`,
  );
  expect(await rollUpAt(5, startMs)).toEqual([{ status: 'provisional' }]);
  expect(await rollUpAt(10, startMs + DAY_MS)).toEqual([{ status: 'final' }]);
});

// The first test has the same for messages that land.
test.runIf(isSoak)('a roll-up notices writes of other connections and transactions', async () => {
  const shard = await openTestShard();
  await landReadings(shard, [at(0, 100), at(5, 150)]);
  await rollUpSite(shard, site);
  await rowsOf(shard, `UPDATE energy_stream SET settings = '{}'`);
  await rowsOf(shard, 'UPDATE daily_energy SET energy_wh = 7');
  await rollUpSite(shard, site);
  expect(await energyByDay(shard)).toEqual({ '2026-11-20': 50 });
  await shard.transaction((connection) => connection.run(`UPDATE energy_stream SET settings = '{}'`));
  await rowsOf(shard, 'UPDATE daily_energy SET energy_wh = 7');
  await rollUpSite(shard, site);
  expect(await energyByDay(shard)).toEqual({ '2026-11-20': 50 });
});

test('after another worker has taken the shard, a roll-up with work throws StaleOwnerError', async () => {
  const shard = await openTestShard();
  await landReadings(shard, [at(0, 100), at(5, 150)]);
  await rollUpSite(shard, site);
  await rowsOf(shard, 'UPDATE shard SET owner_epoch = owner_epoch + 1');
  await expect(rollUpSite(shard, site)).rejects.toThrow(StaleOwnerError);
});
