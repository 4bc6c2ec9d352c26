// @module-tag slow
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak } from '../support/rounds.ts';
import { budget, budgets, intervals, type MeterFixture, openMeters, readings } from './meter-support.ts';

const timezone = 'Europe/London';
const days = ['2026-06-10', '2026-06-11'] as const;
const range = `startDate=${days[0]}&endDate=${days[1]}`;
/** The first local day starts here, at 23:00 UTC. */
const startMs = Date.parse('2026-06-09T23:00Z');
/**
 * Wh by hour: 8 + 23 * 4 = 100 on the first local day, 24 * 5 = 120 on the second. The days of UTC have 97
 * and 115.
 */
const hoursWh = [8, ...Array<number>(23).fill(4), ...Array<number>(24).fill(5)];
const streams = [
  { table: 't', field: 'wh', method: 'interval_energy', unit: 'Wh', interval: '1h', label: 'start' },
] as const;

/** A device and a meter with the same energy, by the days of London. */
async function openLondon(): Promise<MeterFixture> {
  const at = await openMeters({
    timezone,
    sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }], devices: [{ id: deviceId(1) }] }],
  });
  await landReadings(
    at.shard,
    hoursWh.map((wh, hour) => ({
      device: deviceId(1),
      event_time: new Date(startMs + hour * HOUR_MS).toISOString(),
      data: { wh },
    })),
  );
  await rollUpSite(at.shard, { timezone, streams });
  await at.put(intervals(...readings('GRID-1', '2026-06-09T23:00Z', 1, hoursWh)));
  await at.put(budgets(...days.map((day) => budget('GRID-1', day, 90))));
  at.clock.set(Date.parse('2026-06-20T00:00Z'));
  return at;
}

/** The answers of all reports about the two days. `more` is added to requests of reports that take a zone. */
async function energies(at: MeterFixture, more = '') {
  const device = deviceId(1);
  async function of<Day = Record<string, number>>(path: string, read: (day: Day) => unknown) {
    const answer = await at.ask<Record<string, Day> & { days?: Record<string, Day> }>(path);
    const byDay = answer.days ?? answer;
    return days.map((day) => read(byDay[day]!));
  }
  return {
    daily: await of(`daily-energy?${range}`, (day) => day[device]),
    details: await of(
      `daily-energy/details?${range}`,
      (day: Record<string, { energyWh: number }>) => day[device]!.energyWh,
    ),
    profile: await of(`interval-energy?${range}${more}`, (day: { energyWh: Record<string, number[]> }) =>
      day.energyWh[device]!.reduce((total, wh) => total + wh, 0),
    ),
    uploaded: await of(`meter-data?${range}${more}`, (day) => day['GRID-1']),
    derived: await of(`meter-data?${range}${more}`, (day) => day.PV),
    uploadedDetails: await of(
      `meter-data/details?${range}${more}`,
      (day: Record<string, { energyWh: number }>) => day['GRID-1']!.energyWh,
    ),
    reconciledMeters: await of(
      `sites/roof/reconciliation?${range}${more}`,
      (day?: { metersWh: number }) => day?.metersWh,
    ),
    reconciledDevices: await of(
      `sites/roof/reconciliation?${range}${more}`,
      (day?: { devicesWh: number }) => day?.devicesWh,
    ),
    varied: await of(`sites/roof/variance?${range}${more}`, (day: { actualWh: number }) => day.actualWh),
    lake: (
      await at.analyse(
        `SELECT energy_wh::DOUBLE FROM device_daily_energy WHERE day >= '${days[0]}' ORDER BY day`,
      )
    ).flat(),
  };
}

test("every report uses the days of the workgroup's zone by default", async () => {
  const at = await openLondon();
  const found = await energies(at);
  expect(Object.keys(found)).toHaveLength(10);
  for (const [report, energyWh] of Object.entries(found))
    expect([report, energyWh]).toEqual([report, [100, 120]]);
});

// The test above has the zone of the workgroup in every report, and report/interval-energy.test.ts other
// zones.
test.runIf(isSoak)(
  'another zone is asked for by its name, the same way in every report that takes one',
  async () => {
    const at = await openLondon();
    const { daily, profile, uploaded, derived, uploadedDetails, varied } = await energies(
      at,
      '&timezone=Etc/UTC',
    );
    expect(daily).toEqual([100, 120]);
    for (const answer of [profile, uploaded, derived, uploadedDetails, varied])
      expect(answer).toEqual([97, 115]);
  },
);
