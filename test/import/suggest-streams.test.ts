import { expect, test } from 'vitest';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { listFieldUses, usesAsText } from '../../src/import/field-uses.ts';
import { suggestStreams } from '../../src/import/suggest-streams.ts';
import { DEVICE, fileOf, OTHER_DEVICE, preview, testWorkgroup } from './import-fixture.ts';

const HOURS = 72;
const zone = 'Europe/Berlin';
/** Local midnights in summer are at 22:00 UTC. */
const startMs = Date.parse('2026-06-30T22:00Z');

/** What is suggested for a field of this name, with a value for each hour of three local days. */
async function suggested(name: string, shapeOf: (hour: number, device: number) => number | string) {
  const rows = Array.from({ length: HOURS }, (_, hour) =>
    [DEVICE, OTHER_DEVICE].map(
      (device, index) =>
        `${new Date(startMs + hour * 3_600_000).toISOString()},${device},"${shapeOf(hour, index)}"`,
    ),
  );
  const file = fileOf('log.csv', ['time,device,value', ...rows.flat(), ''].join('\n'));
  const mapping = { time: { column: 'time' }, device: { column: 'device' }, fields: { value: name } };
  const { fields } = await preview(file, mapping, testWorkgroup({ timezone: zone }));
  expect(fields).toMatchObject([{ field: name }]);
  return suggestStreams(fields);
}

const lifetime = (hour: number, device: number) => 1_000 * (device + 1) + hour * 0.4;
const today = (hour: number) => (hour % 24) * 0.4;
/** Falls by its last digit every third hour, as computed registers do. */
const jitter = (hour: number) => 100 + hour - (hour % 3 === 2 ? 1.1 : 0);
/** Drops out to zero once on the second day. */
const dropOut = (hour: number) => (hour === 36 ? 0 : 500 + hour);
const todayWithDropOut = (hour: number) => (hour === 36 ? 0 : today(hour));
const onAndOff = (hour: number) => (hour % 4 === 0 ? 3 : 0);
const power = (hour: number) => Math.max(0, 3_000 - 200 * Math.abs((hour % 24) - 12));

test.each<[name: string, shapeOf: typeof lifetime, method: string, unit: string | undefined, why: string]>([
  ['Erzeugung gesamt (kWh)', lifetime, 'total_energy', 'kWh', 'only grows, 1,000 to 2,028.4'],
  ['total_wh', lifetime, 'total_energy', 'Wh', 'only grows, 1,000 to 2,028.4'],
  ['E-Total [MWh]', lifetime, 'total_energy', 'MWh', 'only grows, 1,000 to 2,028.4'],
  ['import_mwh', lifetime, 'total_energy', 'MWh', 'only grows, 1,000 to 2,028.4'],
  // The name and the unit do not show it, but only energy registers never fall.
  ['1.8.0', lifetime, 'total_energy', undefined, 'only grows, 1,000 to 2,028.4'],
  ['Ertrag heute (kWh)', today, 'daily_energy', 'kWh', 'restarts each day, 0 to 9.2'],
  ['yield', today, 'daily_energy', undefined, 'restarts each day, 0 to 9.2'],
  ['load total (kWh)', jitter, 'total_energy', 'kWh', 'only grows, 100 to 170'],
  ['Zähler (kWh)', dropOut, 'total_energy', 'kWh', 'only grows, 0 to 571'],
  ['DAILY_YIELD', todayWithDropOut, 'daily_energy', undefined, 'restarts each day, 0 to 9.2'],
  ['today', today, 'daily_energy', undefined, 'restarts each day, 0 to 9.2'],
  ['Verbrauch (kWh)', onAndOff, 'interval_energy', 'kWh', 'rises and falls, 0 to 3'],
  ['Energy (Wh)', power, 'interval_energy', 'Wh', 'rises and falls, 600 to 3,000'],
  ['PV Leistung (W)', power, 'power_curve', 'W', 'rises and falls, 600 to 3,000'],
  ['Pac', power, 'power_curve', undefined, 'rises and falls, 600 to 3,000'],
  ['grid_kW', power, 'power_curve', 'kW', 'rises and falls, 600 to 3,000'],
])('a field "%s" is suggested to be read', async (name, shapeOf, method, unit, why) => {
  expect(await suggested(name, shapeOf)).toEqual([{ field: name, method, unit, why }]);
});

test('fields that are different amounts by their names are each a separate source', () => {
  const stats = {
    values: 72,
    texts: 0,
    min: 1,
    max: 9,
    risen: 8,
    fallen: 0,
    restarts: 0,
    dropOuts: 0,
    dayChanges: 2,
  };
  const sourcesOf = (...fields: string[]) =>
    suggestStreams(fields.map((field) => ({ field, ...stats }))).map(({ field, as }) => [field, as]);
  expect(sourcesOf('Netzbezug (kWh)', 'Einspeisung (kWh)', 'Total (kWh)')).toEqual([
    ['Netzbezug (kWh)', 'grid_import'],
    ['Einspeisung (kWh)', 'grid_export'],
    ['Total (kWh)', undefined],
  ]);
  // Two fields of one amount can be two methods or two meters, so no sources are suggested.
  expect(sourcesOf('Import T1 (kWh)', 'Import T2 (kWh)').map(([, as]) => as)).toEqual([undefined, undefined]);
});

test('the suggestion for a field that is booked as several sources names each of them', () => {
  const stream = { table: 't', field: 'w', method: 'power_curve', direction: 'positive' };
  const streams = ['in', 'out'].map((as) => energyStreamSchema.parse({ ...stream, as }));
  expect(usesAsText(listFieldUses('t', streams).get('w')!)).toBe(
    'energyStreams.0 (power_curve, W, as in), energyStreams.1 (power_curve, W, as out)',
  );
});

test.each<[name: string, shapeOf: (hour: number) => number | string]>([
  ['Temperatur (°C)', power],
  ['Udc (V)', power],
  ['Status', (hour) => (hour % 3 === 0 ? 'OK' : 'Fault 7')],
  ['humidity', power],
  ['uptime', (hour) => hour * 3_600],
  ['id', (hour) => hour],
])('a field "%s" is not taken for energy or power', async (name, shapeOf) => {
  const rows = await suggested(name, (hour) => shapeOf(hour)).catch((error: unknown) => error);
  // A column without any number is refused before.
  if (!(rows instanceof Error)) expect(rows).toEqual([]);
});
