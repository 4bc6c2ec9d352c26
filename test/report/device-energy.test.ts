// @module-tag slow
import { expect, test } from 'vitest';
import { explainDay } from '../../src/explain/explain-day.ts';
import { addDays, DAY_MS } from '../../src/lib/time.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type CaseReading, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { openReport, type ReportFixture, workgroupConfig } from './report-fixture.ts';

const FIRST = '2026-11-16';
const LAST = '2026-11-18';
const [bothDay, totalDay, leavesDay] = [FIRST, addDays(FIRST, 1), LAST] as [string, string, string];

/**
 * A device of every kind. On the first day all its sources have energy, on the second the total alone, on the
 * third all others.
 */
const settings = {
  totalSource: 'total',
  devices: [
    { id: deviceId(2), sources: ['a', 'b'] },
    { id: deviceId(3), totalSource: 'meter', sources: ['a', 'b'] },
    { id: deviceId(5), totalSource: 'never' },
    { id: deviceId(6), sources: ['a', 'never'] },
    { id: deviceId(7), sources: ['never'] },
  ],
};
const sources: Record<number, string[]> = {
  1: ['total', 'a', 'b'],
  2: ['a', 'b', 'c'],
  3: ['meter', 'a', 'b', 'total'],
  4: ['a', 'b'],
  5: ['a', 'b'],
  6: ['a'],
  7: ['a'],
};
const wh: Record<string, number> = { total: 100, meter: 200, a: 1, b: 20, c: 4_000 };
const isTotal = (device: number, source: string) => source === (device === 3 ? 'meter' : 'total');

/** Wh of each device. Null: only sources that do not count have energy. Undefined: no source has energy. */
const expected: Record<string, Record<number, number | null>> = {
  [bothDay]: { 1: 100, 2: 21, 3: 200, 4: 21, 5: 21, 6: 1, 7: null },
  [totalDay]: { 1: 100, 3: 200 },
  [leavesDay]: { 1: null, 2: 21, 3: null, 4: 21, 5: 21, 6: 1, 7: null },
};

async function openSite(): Promise<ReportFixture> {
  const at = await openReport(settings);
  const readings = Object.entries(sources).flatMap(([device, names]) =>
    names.flatMap((source) =>
      [bothDay, isTotal(Number(device), source) ? totalDay : leavesDay].map(
        (day): CaseReading => ({
          event_time: `${day}T00:00:00Z`,
          device: deviceId(Number(device)),
          source,
          data: { energy: wh[source]! },
        }),
      ),
    ),
  );
  await landReadings(at.shard, readings);
  await rollUpSite(at.shard, {
    timezone: 'Etc/UTC',
    streams: [{ table: 't', field: 'energy', method: 'interval_energy', interval: '1d' }],
    devices: workgroupConfig(settings).devices,
  });
  await at.publish();
  return at;
}

const site = shared(openSite);

/** What is asked for, by day and number of the device. */
async function read(at: ReportFixture, report: string): Promise<Record<string, Record<number, unknown>>> {
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${report}?startDate=${FIRST}&endDate=${LAST}`);
  const days = (await response.json()) as Record<string, Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(days).map(([day, { energyWh, start, ...series }]) => [
      day,
      Object.fromEntries(
        Object.entries(start === undefined ? series : (energyWh as object)).map(([device, value]) => [
          Number(device.slice(-4)),
          value,
        ]),
      ),
    ]),
  );
}

const withoutNulls = (days: typeof expected) =>
  Object.fromEntries(
    Object.entries(days).map(([day, devices]) => [
      day,
      Object.fromEntries(Object.entries(devices).filter(([, energyWh]) => energyWh !== null)),
    ]),
  );

// device-roles.test.ts has the same for devices with roles.
test.runIf(isSoak)(
  'a device has the same energy in the report, its details, its profile, the lake and its explanation',
  async () => {
    const at = site();
    expect(await read(at, 'daily-energy')).toEqual(withoutNulls(expected));

    const details = (await read(at, 'daily-energy/details')) as Record<
      string,
      Record<number, { energyWh: number | null; flags: string[] }>
    >;
    const energyOf = Object.entries(details).map(([day, devices]) => [
      day,
      Object.fromEntries(Object.entries(devices).map(([device, { energyWh }]) => [device, energyWh])),
    ]);
    expect(Object.fromEntries(energyOf)).toEqual(expected);

    const profiles = (await read(at, 'interval-energy')) as Record<string, Record<number, number[]>>;
    const sums = Object.entries(profiles).map(([day, devices]) => [
      day,
      Object.fromEntries(
        Object.entries(devices).map(([device, profile]) => [
          device,
          profile.reduce((sum, one) => sum + one, 0),
        ]),
      ),
    ]);
    expect(Object.fromEntries(sums)).toEqual(withoutNulls(expected));

    const lake = await at.analyse(
      'SELECT day::VARCHAR, device::VARCHAR, energy_wh::DOUBLE, flags FROM device_daily_energy',
    );
    for (const [day, device, energyWh] of lake)
      expect([day, device, energyWh]).toEqual([
        day,
        device,
        expected[String(day)]![Number(String(device).slice(-4))],
      ]);
    expect(lake).toHaveLength(Object.values(details).flatMap((devices) => Object.keys(devices)).length);

    const connection = await at.shard.connect();
    // One of each kind, because an explanation takes its time.
    const chosen = [
      [bothDay, 2],
      [bothDay, 7],
      [totalDay, 1],
      [totalDay, 4],
      [leavesDay, 1],
    ] as const;
    for (const [day, device] of chosen) {
      const energyWh = expected[day]![device];
      const explained = await explainDay(
        connection,
        { device: deviceId(device), day },
        { workgroup: workgroupConfig(settings), nowMs: Date.UTC(2030, 0, 1), closeAfterMs: 2 * DAY_MS },
      );
      expect([day, device, explained.energyWh]).toEqual([day, device, energyWh ?? null]);
      if (energyWh === null) expect(explained.text).toMatch(/^incomplete: .* is not added up$/);
    }
    connection.closeSync();
  },
);

test('a device is incomplete if one of its counted sources is missing, and not if another source is', async () => {
  const at = site();
  const details = (await read(at, 'daily-energy/details')) as Record<
    string,
    Record<number, { flags: string[] }>
  >;
  const incomplete = Object.entries(details).map(([day, devices]) => [
    day,
    Object.entries(devices).flatMap(([device, { flags }]) =>
      flags.includes('incomplete') ? [Number(device)] : [],
    ),
  ]);
  // Devices 6 and 7 always lack a source. Devices 1 and 3 are complete with the total alone, and have no
  // energy without it.
  expect(Object.fromEntries(incomplete)).toEqual({
    [bothDay]: [6, 7],
    [totalDay]: [],
    [leavesDay]: [1, 3, 6, 7],
  });
  expect(details[leavesDay]![1]).toMatchObject({
    energyWh: null,
    methods: [],
    flags: ['incomplete'],
    coverage: 0,
  });
});

test('a source that does not count is shown by source', async () => {
  const at = site();
  const bySource = await at.report(
    `startDate=${FIRST}&endDate=${FIRST}&groupBy=source&devices=${deviceId(2)}`,
  );
  expect(bySource[FIRST]).toEqual({
    [`${deviceId(2)}.a`]: 1,
    [`${deviceId(2)}.b`]: 20,
    [`${deviceId(2)}.c`]: 4_000,
  });
  expect(
    await at.analyse(`SELECT source, counts FROM device_source WHERE device = '${deviceId(2)}'`),
  ).toEqual([
    ['a', true],
    ['b', true],
    ['c', false],
  ]);
});
