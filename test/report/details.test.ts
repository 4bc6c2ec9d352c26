// @module-tag slow
import { expect, test } from 'vitest';
import { addSeries, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak } from '../support/rounds.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

const path = (query: string) => `/api/v1/orgs/${WORKGROUP}/daily-energy/details?${query}`;
const NOVEMBER = 'startDate=2026-11-18&endDate=2026-11-19';

async function details(at: ReportFixture, query: string, token = at.token) {
  const response = await at.get(path(query), { token });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, Record<string, Record<string, unknown>>>;
}

test('a day tells how it was read, its quality and its version', async () => {
  const at = await openReport();
  const streams = [
    { table: 't', field: 'e', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
  ] as const;
  await landReadings(at.shard, [
    { event_time: '2026-11-18T00:00:00Z', source: 'pv', data: { e: 5_000 } },
    { event_time: '2026-11-18T12:00:00Z', source: 'pv', data: { e: 6_000 } },
    { event_time: '2026-11-18T18:00:00Z', source: 'pv', data: { e: 100 } },
  ]);
  await rollUpSite(at.shard, { timezone: 'Etc/UTC', streams }, Date.parse('2026-11-21T06:00:00.250Z'));
  await at.publish();
  const answer = await details(at, `${NOVEMBER}&groupBy=source`);
  const day = {
    energyWh: 1_100,
    methods: ['total_energy'],
    flags: ['partial', 'reset'],
    coverage: 0.75,
    status: 'final',
    version: 1,
    computedAt: '2026-11-21T06:00:00.250Z',
  };
  expect(answer).toEqual({
    '2026-11-18': { '00000000-0000-4000-8000-000000000001.pv': day },
    '2026-11-19': {},
  });

  await landReadings(at.shard, [{ event_time: '2026-11-19T00:00:00Z', source: 'pv', data: { e: 160 } }]);
  await rollUpSite(at.shard, { timezone: 'Etc/UTC', streams }, Date.parse('2026-11-22T06:00:00Z'));
  await at.publish();
  expect((await details(at, NOVEMBER))['2026-11-18']).toEqual({
    '00000000-0000-4000-8000-000000000001': {
      ...day,
      energyWh: 1_160,
      flags: ['reset'],
      coverage: 1,
      status: 'restated',
      version: 2,
      computedAt: '2026-11-22T06:00:00.000Z',
    },
  });
  // The same columns for whoever asks the lake.
  expect(
    await at.analyse(
      "SELECT energy_wh, method, array_to_string(flags, ' '), coverage, status, version, stream_id FROM daily_energy",
    ),
  ).toEqual([[1_160n, 'total_energy', 'reset', 1, 'restated', 2, 1]]);
});

test('a device tells the worst of its sources, or of its total source alone', async () => {
  const at = await openReport({ devices: [{ id: deviceId(2), totalSource: 'meter' }] });
  for (const [index, [device, source]] of (
    [
      [1, 'a'],
      [1, 'b'],
      [2, 'meter'],
      [2, 'phase'],
    ] as const
  ).entries()) {
    await addSeries(at.shard, index, device, source);
  }
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 1, source: 'a', energyWh: 5, flags: 128 | 2, version: 3 },
    { day: '2026-11-18', device: 1, source: 'b', energyWh: 6, flags: 2 },
    { day: '2026-11-18', device: 2, source: 'meter', energyWh: 7 },
    { day: '2026-11-18', device: 2, source: 'phase', energyWh: 8, flags: 32, version: 9 },
  ]);
  await at.shard.transaction(async (connection) => {
    await connection.run(
      "UPDATE daily_energy SET coverage = 0.5, method = 'power_curve', computed_at_ms = 1_000, status = 'final' WHERE source = 'b'",
    );
    await connection.run("UPDATE daily_energy SET status = 'restated' WHERE source = 'meter'");
  });
  await at.publish();
  const answer = await details(at, 'startDate=2026-11-18&endDate=2026-11-18');
  expect(answer['2026-11-18']).toEqual({
    [deviceId(1)]: {
      energyWh: 11,
      methods: ['power_curve', 'total_energy'],
      flags: ['partial', 'reset', 'undeclared'],
      coverage: 0.5,
      status: 'provisional',
      version: 3,
      computedAt: '1970-01-01T00:00:01.000Z',
    },
    [deviceId(2)]: {
      energyWh: 7,
      methods: ['total_energy'],
      flags: [],
      coverage: 1,
      status: 'restated',
      version: 1,
      computedAt: '1970-01-01T00:00:00.000Z',
    },
  });
});

// rollup/versions.test.ts has when a day is final.
test.runIf(isSoak)(
  'a day becomes final in the report when it is closed, although no reading has come',
  async () => {
    const at = await openReport();
    const streams = [{ table: 't', field: 'e', method: 'total_energy', unit: 'Wh' }] as const;
    const rollUp = (now: string) => rollUpSite(at.shard, { timezone: 'Etc/UTC', streams }, Date.parse(now));
    const statusNow = async () => {
      const [day] = Object.values((await details(at, NOVEMBER))['2026-11-18']!);
      return day!.status;
    };
    await landReadings(at.shard, [
      { event_time: '2026-11-18T00:00:00Z', data: { e: 5_000 } },
      { event_time: '2026-11-18T12:00:00Z', data: { e: 6_000 } },
    ]);
    await rollUp('2026-11-19T06:00:00Z');
    await at.publish();
    expect(await statusNow()).toBe('provisional');
    await rollUp('2026-11-29T06:00:00Z');
    expect(await at.publish()).toMatchObject({ kind: 'published' });
    expect(await statusNow()).toBe('final');
    await rollUp('2026-11-30T06:00:00Z');
    expect(await at.publish()).toMatchObject({ kind: 'unchanged' });
  },
);
