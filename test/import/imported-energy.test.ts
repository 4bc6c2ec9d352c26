// @module-tag slow
import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { summarizeImports } from '../../src/import/import-summary.ts';
import { listImports } from '../../src/import/list-imports.ts';
import { newestImports } from '../../src/import/newest-imports.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { rollUpSite } from '../rollup/rollup-fixture.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, fileOf, importInto, OTHER_DEVICE, testWorkgroup } from './import-fixture.ts';
import { NOW_MS } from './settings.ts';

const timezone = 'Europe/Berlin';
const streams: EnergyStreamInput[] = [
  { table: 't', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
];
const mapping = {
  time: { column: 'time' },
  device: { column: 'device' },
  source: { column: 'source' },
  fields: { total: 'total', volt: 'volt', note: 'note' },
};

/** A register of a device that grows by 100 Wh in each hour, from an hour of UTC on. */
function rowsOf(device: string, source: string, first: string, hours: number): string[] {
  return Array.from({ length: hours }, (_, hour) => {
    const time = new Date(Date.parse(`${first}:00Z`) + hour * 3_600_000).toISOString();
    return `${time},${device},${source},${1_000 + 100 * hour},230,${hour === 0 ? 'on' : ''}`;
  });
}
const csv = (...rows: string[]) => `time,device,source,total,volt,note\n${rows.join('\n')}\n`;

test('imports are listed, and their summary has the energy of their devices, sources and days once', async () => {
  const shard = await openTestShard();
  const workgroup = testWorkgroup({ timezone, energyStreams: streams });
  const options = { workgroup };
  const before = fileOf('before.csv', csv(...rowsOf(DEVICE, 'roof', '2024-06-29T08:00', 3)));
  await importInto(shard, before, mapping, options);
  const rows = [
    ...rowsOf(DEVICE, 'roof', '2024-06-30T20:00', 6),
    ...rowsOf(OTHER_DEVICE, 'roof', '2024-06-30T20:00', 6),
    ...rowsOf(OTHER_DEVICE, 'cellar', '2024-07-01T08:00', 3),
    `2024-07-01T12:00:00Z,${DEVICE},roof,-1,230,`,
    'never,x,roof,1,2,',
  ];
  const file = fileOf('file.csv', csv(...rows));
  expect(await importInto(shard, file, mapping, options)).toMatchObject({ kind: 'landed' });
  await rollUpSite(shard, { timezone, streams });

  const listed = await shard.transaction((connection) => listImports(connection, { limit: 9 }));
  expect(listed).toMatchObject([
    { path: file, table: 't', state: 'landed', rowsRead: 17, rowsLanded: 16, rowsRejected: 1 },
    { path: before, table: 't', state: 'landed', rowsRead: 3, rowsLanded: 3, rowsRejected: 0 },
  ]);
  expect(listed[0]).toMatchObject({ rejected: { no_device: 1 }, startedAtMs: NOW_MS, updatedAtMs: NOW_MS });
  const [newest, oldest] = listed.map(({ importId }) => importId);
  const pages = (page: { limit: number; beforeId?: number }) =>
    shard.transaction(async (connection) => (await listImports(connection, page)).map(({ path }) => path));
  expect(await pages({ limit: 1 })).toEqual([file]);
  expect(await pages({ limit: 9, beforeId: newest! })).toEqual([before]);

  const summary = await shard.transaction((connection) =>
    summarizeImports(connection, { importIds: [newest!], table: 't' }, workgroup),
  );
  expect(summary).toMatchObject({ table: 't', firstDay: '2024-06-30', lastDay: '2024-07-01', devices: 2 });
  expect(summary.fields.map(({ field, values, rejected }) => [field, values, rejected])).toEqual([
    ['note', 3, {}],
    ['total', 16, { negative: 1 }],
    ['volt', 16, {}],
  ]);
  expect(summary.fields[1]!.streams).toMatchObject([{ position: 0, taken: 15 }]);
  // Clocks are two hours ahead of UTC, so July begins at 22:00. The day before the import is not counted.
  expect(summary.months).toEqual([
    { month: '2024-06', source: 'roof', energyWh: 400, devices: 2, days: 1 },
    { month: '2024-07', source: 'cellar', energyWh: 200, devices: 1, days: 1 },
    { month: '2024-07', source: 'roof', energyWh: 600, devices: 2, days: 1 },
  ]);
  const both = await shard.transaction((connection) =>
    summarizeImports(connection, { importIds: [newest!, oldest!], table: 't' }, workgroup),
  );
  expect(both.months[0]).toEqual({ month: '2024-06', source: 'roof', energyWh: 600, devices: 2, days: 2 });

  const since = (nowMs: number) =>
    shard.transaction((connection) => newestImports(connection, workgroup, nowMs));
  expect(await since(NOW_MS + 7 * DAY_MS)).toMatchObject([
    { path: file, landedAtMs: NOW_MS, rowsLanded: 16, rowsRejected: 1, summary },
    { path: before, summary: { devices: 1 } },
  ]);
  expect(await since(NOW_MS + 7 * DAY_MS + 1)).toEqual([]);
});
