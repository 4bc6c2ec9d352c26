import { expect, test } from 'vitest';
import { explainDay } from '../../src/explain/explain-day.ts';
import { explainedSchema } from '../../src/explain/explained-schema.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { compactLake } from '../../src/publish/compact-lake.ts';
import { readHead } from '../../src/publish/lake-commit.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openMeters } from './meter-support.ts';
import { workgroupConfig } from './report-fixture.ts';

const START_MS = Date.UTC(2026, 10, 1);
const streams = [{ table: 't', field: 'net', method: 'total_energy' as const, register: 'net' as const }];
/** Each goes nearly from one end of its range to the other at noon, and back at the next noon. */
const count = 12;
const devices = Array.from({ length: count }, (_, index) => ({ id: deviceId(index + 1) }));
const dayCount = 3;

const settings = {
  timezone: 'Etc/UTC',
  devices,
  roles: [{ source: 'default', role: 'production' as const }],
  meters: devices.map(({ id }, index) => ({ code: `M-${index}`, device: id })),
  sites: [{ name: 'all', devices, meters: devices.map((_, index) => ({ code: `M-${index}` })) }],
};

/** Whole days of hourly readings. */
function absurdReadings() {
  return devices.flatMap(({ id }) =>
    Array.from({ length: dayCount * 24 + 1 }, (_, hour) => ({
      event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
      device: id,
      data: { net: Math.floor((hour + 12) / 24) % 2 === 0 ? -9.9e14 : 9.9e14 },
    })),
  );
}

test('energy with sums beyond 2^53 is published, merged and returned by every report', async () => {
  const at = await openMeters(settings as never);
  await landReadings(at.shard, absurdReadings());
  at.clock.set(START_MS + (dayCount + 1) * DAY_MS);
  await rollUpSite(at.shard, { timezone: 'Etc/UTC', streams, devices: devices as never }, at.clock.now());
  expect((await at.publish()).kind).toBe('published');
  const head = (await readHead(at.paths))!;
  expect(Math.max(...head.files.map(({ energyWh = 0 }) => Math.abs(energyWh)))).toBeGreaterThan(2 ** 53);

  const range = 'startDate=2026-11-01&endDate=2026-11-03';
  const from = new Date(START_MS).toISOString();
  for (const path of [
    `daily-energy?${range}`,
    `daily-energy?${range}&groupBy=source`,
    `daily-energy/details?${range}`,
    `daily-energy/details?${range}&groupBy=source`,
    `daily-energy/changes?since=${from}&provisional=true`,
    `interval-energy?${range}`,
    `interval-energy?${range}&groupBy=source`,
    `meter-data?${range}`,
    `meter-data/details?${range}`,
    `meter-data?${range}&timezone=America/New_York`,
    `budget-data?${range}`,
    `sites/all/reconciliation?${range}`,
    `sites/all/variance?${range}`,
    `balance?${range}`,
    `balance?${range}&resolution=interval`,
    `balance?${range}&resolution=month`,
    `sites/all/balance?${range}`,
    'device-status',
  ]) {
    const response = await at.get(`/api/v1/orgs/acme/${path}`);
    expect([path, response.status, response.status === 200 ? '' : await response.text()]).toEqual([
      path,
      200,
      '',
    ]);
  }

  const connection = await at.shard.connect();
  const explained = await explainDay(
    connection,
    { device: deviceId(1), day: '2026-11-01' },
    { workgroup: workgroupConfig(settings as never), nowMs: at.clock.now(), closeAfterMs: 2 * DAY_MS },
  );
  connection.closeSync();
  explainedSchema.parse(JSON.parse(JSON.stringify(explained)));
  expect(explained.outcome).toBe('explained');

  at.clock.set(START_MS + 60 * DAY_MS + MINUTE_MS);
  const merged = await compactLake(at.shard, { lakeDir: at.lakeDir, clock: at.clock, logger: silentLogger });
  expect(merged.kind).toBe('compacted');
});
