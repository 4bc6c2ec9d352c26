// @module-tag slow
import { expect, test } from 'vitest';
import { describeExplained } from '../../src/cli/explain/explain-view.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { explainDay } from '../../src/explain/explain-day.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type CaseReading, DEVICE, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { openReport } from './report-fixture.ts';

const DAY = '2026-06-01';
const settings = {
  energyStreams: [
    { table: 'grid', field: 'in_wh', method: 'total_energy', maxPower: '10 kW', as: 'import' },
    { table: 'grid', field: 'out_wh', method: 'total_energy', maxPower: '10 kW', as: 'export' },
    { table: 'grid', field: 'w', method: 'power_curve', maxGap: '1h', direction: 'positive', as: 'import' },
  ],
  devices: [{ id: DEVICE, name: 'meter', sources: ['import', 'export'] }],
  roles: [
    { source: 'import', role: 'grid_import' },
    { source: 'export', role: 'grid_export' },
  ],
} as const;

/** A meter that shows both registers in each message, one of them once as text. */
const readings = Array.from({ length: 49 }, (_, hour): CaseReading => {
  const time = Date.parse(`${DAY}T00:00:00Z`) + hour * 3_600_000;
  const data = { in_wh: 50_000 + 300 * hour, out_wh: hour === 5 ? 'broken' : 7_000 + 100 * hour, w: 200 };
  return { event_time: new Date(time).toISOString(), table: 'grid', source: 'main', data };
});

async function openMeter() {
  const workgroup = workgroupSchema.parse({ id: WORKGROUP, ...settings });
  const at = await openReport(workgroup);
  await landReadings(at.shard, readings);
  await rollUpSite(at.shard, {
    timezone: 'Etc/UTC',
    streams: settings.energyStreams.slice(),
    devices: workgroup.devices,
  });
  await at.publish();
  const read = async (path: string) => (await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`)).json();
  return { ...at, workgroup, read };
}

test('two registers of one message are two sources, each with its role, in days, balance and lake', async () => {
  const at = await openMeter();
  const range = `startDate=${DAY}&endDate=${DAY}`;
  expect(await at.read(`daily-energy?${range}&groupBy=source`)).toEqual({
    [DAY]: { [`${DEVICE}.export`]: 2_400, [`${DEVICE}.import`]: 7_200 },
  });
  // Import and export are never added. The energy of the device is the energy of its first role.
  expect(await at.read(`daily-energy?${range}`)).toEqual({ [DAY]: { [DEVICE]: 7_200 } });
  expect(await at.read(`balance?${range}`)).toMatchObject({
    [DAY]: { gridImportWh: 7_200, gridExportWh: 2_400, gridNetWh: 4_800 },
  });
  expect(
    await at.analyse(
      'SELECT source, role FROM source_role WHERE device IN (SELECT device FROM series) AND source IN (SELECT source FROM series) ORDER BY ALL',
    ),
  ).toEqual([
    ['export', 'grid_export'],
    ['import', 'grid_import'],
  ]);
  expect(await at.analyse('SELECT DISTINCT source FROM messages')).toEqual([['main']]);
});

// The test above has booked sources in reports, and problems/find-problems.test.ts what is wrong with them.
test.runIf(isSoak)(
  'explain shows the booked source of a field and its rejections, although messages name another source',
  async () => {
    const at = await openMeter();
    const connection = await at.shard.connect();
    const explained = await explainDay(
      connection,
      { device: DEVICE, day: DAY, source: 'export' },
      { workgroup: at.workgroup, nowMs: Date.UTC(2030, 0, 1), closeAfterMs: 2 * DAY_MS },
    ).finally(() => connection.closeSync());
    const [source] = explained.sources;
    expect([explained.energyWh, source!.source, source!.result?.field]).toEqual([2_400, 'export', 'out_wh']);
    expect(source!.streams.map(({ as, chosen, reason }) => [as, chosen, reason])).toEqual([
      ['import', false, 'its energy is booked as source import'],
      ['export', true, 'the first in the order, covers 100 % of the day'],
      ['import', false, 'its energy is booked as source import'],
    ]);
    expect(source!.readings.filter(({ fate }) => fate === 'rejected')).toMatchObject([
      { time: `${DAY}T05:00:00.000Z`, reason: 'not_a_number', text: 'broken' },
    ]);
    const page = describeExplained(explained, { all: false });
    expect(page).toContain('grid.out_wh, as export');
    expect(page).toContain('without readings of this source: grid.in_wh, as import; grid.w, as import');
  },
);
