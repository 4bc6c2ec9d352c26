import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { declareMeters } from '../../src/warehouse/declared-meters.ts';
import { deviceId } from '../support/messages.ts';

test('meters, the members of sites and the roles that they do not have are stored as declared', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  onTestFinished(() => instance.closeSync());
  const connection = await instance.connect();
  onTestFinished(() => connection.closeSync());
  const [one, two] = [deviceId(1), deviceId(2)];
  const declared = workgroupSchema.parse({
    id: 'acme',
    meters: [
      { code: 'main', name: 'House', direction: 'import', device: one, source: 'grid' },
      { code: 'gas' },
    ],
    sites: [
      {
        name: 'home',
        meters: [{ code: 'main', sign: -1, from: '2026-11-01' }],
        devices: [{ id: two, source: 'pv', to: '2026-11-30' }],
        absent: ['production', 'battery_charge'],
      },
      { name: 'shop', devices: [{ id: one }], absent: ['production'] },
    ],
  });
  await declareMeters(connection, declared);
  const rowsOf = async (table: string, columns: string) =>
    (await connection.runAndReadAll(`SELECT ${columns} FROM ${table} ORDER BY ALL`)).getRows();

  expect(await rowsOf('declared_meter', 'meter_code, name, direction, device::VARCHAR, source')).toEqual([
    ['gas', null, null, null, null],
    ['main', 'House', 'import', one, 'grid'],
  ]);
  expect(
    await rowsOf(
      'declared_member',
      'site, meter_code, device::VARCHAR, source, sign, valid_from::VARCHAR, valid_to::VARCHAR',
    ),
  ).toEqual([
    ['home', 'main', null, null, -1, '2026-11-01', null],
    ['home', null, two, 'pv', 1, null, '2026-11-30'],
    ['shop', null, one, null, 1, null, null],
  ]);
  // All sites of the workgroup have no production.
  expect(await rowsOf('declared_absent', 'site, role')).toEqual([
    ['home', 'battery_charge'],
    ['home', 'production'],
    ['shop', 'production'],
    [null, 'production'],
  ]);
});
