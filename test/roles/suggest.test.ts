import { expect, test } from 'vitest';
import { suggestRole } from '../../src/roles/suggest-roles.ts';

test.each([
  ['solar', 'production'],
  ['pv_east', 'production'],
  ['PvPower', 'production'],
  ['load', 'consumption'],
  ['Verbrauch', 'consumption'],
  ['hausverbrauch', 'consumption'],
  ['import', 'grid_import'],
  ['grid_import', 'grid_import'],
  ['Netzbezug', 'grid_import'],
  ['bezug', 'grid_import'],
  ['OBIS 1.8.0', 'grid_import'],
  ['export', 'grid_export'],
  ['solar_feed_in', 'grid_export'],
  ['feedIn', 'grid_export'],
  ['Einspeisung', 'grid_export'],
  ['charge', 'battery_charge'],
  ['batteryDischarge', 'battery_discharge'],
  ['discharge_total', 'battery_discharge'],
  ['ev_charge', 'consumption'],
  ['wallbox', 'consumption'],
  ['gridexport', 'grid_export'],
  ['netzladung', 'battery_charge'],
  ['gridload', undefined],
  ['main', undefined],
  ['total', undefined],
  ['power', undefined],
  ['phase_1', undefined],
  ['L2', undefined],
  ['default', undefined],
  ['self_consumption', undefined],
  ['Eigenverbrauch', undefined],
  ['inverter', undefined],
  ['downloads', undefined],
  ['spv', undefined],
])('"%s" suggests %s', (source, role) => {
  expect(suggestRole(source)?.role).toBe(role);
});

test('a suggestion names the word that it follows from', () => {
  expect(suggestRole('solar_feed_in')).toEqual({ role: 'grid_export', reason: '"feed in" in its name' });
});
