// @module-tag slow
import { expect, test } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openReport } from './report-fixture.ts';

const timeout = 240_000;

interface Quality {
  kinds: Array<{ coverage: number; status: string; methods: string[]; flags: string[] }>;
  devices: Record<string, Array<number | null>>;
}

test('quality has the same days as the details, and null without a day', {
  timeout,
}, async () => {
  const at = await openReport({ devices: [{ id: deviceId(2), name: 'roof' }] });
  await storeDays(at.shard, [
    { day: '2026-11-16', device: 1, energyWh: 5 },
    { day: '2026-11-17', device: 1, energyWh: 0 },
    { day: '2026-11-18', device: 1, energyWh: 6, flags: 1 },
    { day: '2026-11-18', device: 2, energyWh: 7 },
    // The most frequent kind of day comes first.
    ...[3, 4, 5].map((device) => ({ day: '2026-11-16', device, energyWh: 5 })),
  ]);
  await at.shard.transaction((connection) =>
    connection.run("UPDATE daily_energy SET coverage = 0.9985 WHERE day = '2026-11-16'"),
  );
  await at.publish();
  const range = 'startDate=2026-11-16&endDate=2026-11-19';
  const read = async <Answer>(path: string) =>
    (await (await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`)).json()) as Answer;
  const { kinds, devices } = await read<Quality>(`quality?${range}`);
  const details = await read<Record<string, Record<string, Quality['kinds'][number]>>>(
    `daily-energy/details?${range}`,
  );
  for (const device of [deviceId(1), deviceId(2)])
    for (const [index, day] of ['2026-11-16', '2026-11-17', '2026-11-18', '2026-11-19'].entries()) {
      const place = devices[device]![index]!;
      const known = details[day]![device];
      if (known === undefined) expect([device, day, place]).toEqual([device, day, null]);
      else {
        const { coverage, status, methods, flags } = known;
        expect(kinds[place]).toEqual({ coverage: Math.floor(coverage * 100) / 100, status, methods, flags });
      }
    }
  expect(devices[deviceId(2)]).toEqual([null, null, 1, null]);
  expect(devices[deviceId(3)]).toEqual([0, null, null, null]);
  expect(Object.keys((await read<Quality>(`quality?${range}&devices=roof`)).devices)).toEqual([deviceId(2)]);
  expect(await read(`quality?startDate=2020-01-01&endDate=2020-01-02`)).toEqual({
    startDate: '2020-01-01',
    endDate: '2020-01-02',
    kinds: [],
    devices: {},
  });
});

test('the quality of 400 devices and 366 days is below 1 MB', { timeout }, async () => {
  const at = await openReport();
  const days = Array.from({ length: 366 }, (_, index) => addDays('2025-06-01', index));
  // Many different kinds of days.
  await at.shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO daily_energy (day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id)
       SELECT DATE '2025-06-01' + place::INTEGER, ('00000000-0000-4000-8000-' || lpad(device::VARCHAR, 12, '0'))::UUID, 'inverter', place,
         'total_energy', 1, (device * 31 + place * 17) % 64, 1, 'provisional', 1, 0, 1
       FROM range(1, 401) AS d(device), range(366) AS p(place)`,
    );
    await connection.run(
      "INSERT INTO dirty_partition SELECT DISTINCT 'daily_energy', left(day::VARCHAR, 7) FROM daily_energy",
    );
  });
  await at.publish();
  const response = await at.get(
    `/api/v1/orgs/${WORKGROUP}/quality?startDate=2025-06-01&endDate=${days.at(-1)}`,
    { headers: { 'accept-encoding': 'identity' } },
  );
  const text = await response.text();
  expect(response.status).toBe(200);
  const { devices, kinds } = JSON.parse(text) as Quality;
  expect([Object.keys(devices).length, Object.values(devices)[0]?.length]).toEqual([400, 366]);
  expect(kinds.length).toBeGreaterThan(20);
  expect(text.length).toBeLessThan(1_000_000);
});

test('daily energy is added up by month and year, over days of the range alone', {
  timeout,
}, async () => {
  const at = await openReport();
  await storeDays(at.shard, [
    { day: '2025-12-30', device: 1, energyWh: 1 },
    { day: '2025-12-31', device: 1, energyWh: 2 },
    { day: '2026-01-01', device: 1, energyWh: 4 },
    { day: '2026-01-01', device: 2, energyWh: 8 },
    { day: '2026-03-01', device: 1, energyWh: 16 },
  ]);
  await at.publish();
  const range = 'startDate=2025-12-31&endDate=2026-03-31';
  expect(await at.report(`${range}&resolution=month`)).toEqual({
    '2025-12': { [deviceId(1)]: 2 },
    '2026-01': { [deviceId(1)]: 4, [deviceId(2)]: 8 },
    '2026-02': {},
    '2026-03': { [deviceId(1)]: 16 },
  });
  expect(await at.report(`${range}&resolution=year`)).toEqual({
    '2025': { [deviceId(1)]: 2 },
    '2026': { [deviceId(1)]: 20, [deviceId(2)]: 8 },
  });
  const bySource = await at.report(`${range}&resolution=year&groupBy=source`);
  expect(Object.values(bySource['2026']!).toSorted((a, b) => a - b)).toEqual([8, 20]);
  const path = `/api/v1/orgs/${WORKGROUP}/daily-energy?${range}&resolution=month`;
  const csv = await (await at.get(`${path}&format=csv`)).text();
  expect(csv.trim().split('\r\n')).toEqual([
    'period,device,device_name,energy_wh,days',
    `2025-12,${deviceId(1)},,2,1`,
    `2026-01,${deviceId(1)},,4,1`,
    `2026-01,${deviceId(2)},,8,1`,
    `2026-03,${deviceId(1)},,16,1`,
  ]);
  const tags = await Promise.all(
    ['day', 'month', 'year'].map(async (resolution) =>
      (await at.get(path.replace('month', resolution))).headers.get('etag'),
    ),
  );
  expect(new Set(tags).size).toBe(3);
  expect((await at.get(path.replace('=month', '=week'))).status).toBe(400);
});
