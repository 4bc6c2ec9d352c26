// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { findProblems } from '../../src/problems/find-problems.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { DEVICE, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';

const streams = [{ table: 't', field: 'net', method: 'total_energy' as const, register: 'net' as const }];

test('a series that is set aside is reported as a problem with its reason, and wattline retry computes it again', async () => {
  const cwd = tempDir();
  const workgroup = {
    id: 'acme',
    timezone: 'Etc/UTC',
    energyStreams: streams,
    devices: [{ id: DEVICE, name: 'garage' }],
  };
  writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify({ workgroups: [workgroup] }));
  const open = () =>
    openShard({
      path: join(cwd, 'data', 'warehouse', 'acme.duckdb'),
      workgroupId: 'acme',
      memoryMegabytes: 256,
      threads: 2,
      clock: systemClock,
      logger: silentLogger,
    });
  const config = configSchema.parse({ workgroups: [workgroup] }).workgroups[0]!;
  const site = { timezone: 'Etc/UTC', streams, devices: config.devices, closeAfterMs: 2 * 86_400_000 };
  const reading = (hour: number) => ({
    event_time: new Date(Date.UTC(2026, 0, 1) + hour * HOUR_MS).toISOString(),
    data: { net: 1_000 * hour },
  });

  let shard = await open();
  await landReadings(shard, [reading(0), reading(1), reading(2)]);
  await rollUpSite(shard, site);
  await rowsOf(shard, 'UPDATE reading SET value = 1e300 WHERE value = 2000');
  await landReadings(shard, [reading(3)]);
  await rollUpSite(shard, site);
  expect((await shard.status()).setAside).toMatchObject([
    {
      device: DEVICE,
      source: 'default',
      field: 'net',
      error: expect.stringContaining('beyond what can be computed'),
    },
  ]);
  const [problem] = await shard.read((connection) => findProblems(connection, config));
  expect(problem).toMatchObject({
    path: 'energyStreams.0.field',
    message: expect.stringMatching(
      /source default has been set aside since .*: a number is beyond .* "wattline retry/,
    ),
  });
  await rowsOf(shard, 'UPDATE reading SET value = 2000 WHERE value > 1e100');
  await shard.close();

  expect((await runCli(['retry', 'garage', '--json'], { cwd })).stdout).toBe('{"series":1}\n');
  expect((await runCommand(['retry', 'barn'], { cwd })).code).toBe(2);
  expect((await runCommand(['retry'], { cwd })).stdout).toBe('no series has failed\n');
  shard = await open();
  expect(
    await rowsOf(shard, 'SELECT energy_wh::INTEGER AS wh, flags & 65536 AS unavailable FROM daily_energy'),
  ).toEqual([{ wh: 3_000, unavailable: 0 }]);
  await shard.close();
});

test.runIf(isSoak)(
  'replay tells the flags of each day, and names a case that fails beside the others',
  async () => {
    const cwd = tempDir();
    const hourly = (values: readonly unknown[]) =>
      values.map((value, hour) => ({
        event_time: new Date(Date.UTC(2024, 5, 1, hour)).toISOString(),
        data: { e: value },
      }));
    const energyStreams = [{ table: 't', field: 'e', method: 'total_energy', maxPower: '10 kW' }];
    writeFileSync(
      join(cwd, 'cases.json'),
      JSON.stringify([
        { id: 'reset', energyStreams, readings: hourly([5_000, 6_000, 100, 200, 1e19, 3.4e38, 300]) },
        {
          id: 'refused',
          energyStreams,
          readings: [{ event_time: '2024-06-01T00:00:00Z', device: 'no uuid', data: { e: 1 } }],
        },
        { id: 'plain', energyStreams, readings: hourly([0, 1_000]) },
      ]),
    );
    const { code, stdout, stderr } = await runCommand(['replay', 'cases.json', '--json'], { cwd });
    const told = JSON.parse(stdout);
    expect(told.reset.flags).toEqual({
      '2024-06-01': { '00000000-0000-4000-8000-000000000001.default': ['partial', 'reset'] },
    });
    expect(told.reset.bySource['2024-06-01']).toEqual({
      '00000000-0000-4000-8000-000000000001.default': 1_300,
    });
    expect(told.reset).toMatchObject({ rejected: 2, failed: [] });
    expect(told.refused).toMatchObject({
      days: {},
      failed: [{ series: null, error: expect.stringContaining('refused') }],
    });
    expect(told.plain).toMatchObject({ failed: [] });
    expect(Object.keys(told.plain.flags)).toEqual(['2024-06-01']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('refused');
  },
);
