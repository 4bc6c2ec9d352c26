import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { guessFor, mappingText } from '../../src/cli/import/mapping-files.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { DEVICE, fileOf, OTHER_DEVICE, testWorkgroup } from './import-fixture.ts';

const energyStreams = [
  { table: 't', field: 'Zähler', method: 'total_energy', unit: 'kWh', unitField: 'Einheit' },
  { table: 't', field: 'Zähler', method: 'daily_energy', unit: 'kWh' },
  { table: 'another', field: 'Leistung', method: 'power_curve' },
];
const log = `Export;;;
;;;
Zeit;Zähler;Leistung;Einheit
01.02.2026 00:00;1,5;7;kWh
02.02.2026 00:00;2,5;9;kWh
`;

/** The comments of the printed mapping, each by the beginning of the line after it. */
async function printed(content: string, settings: Record<string, unknown>) {
  const workgroup = testWorkgroup({ timezone: 'Europe/Berlin', energyStreams, ...settings });
  const { mapping, reasons } = await guessFor(fileOf('log.csv', content), workgroup, 't');
  const text = mappingText(mapping, reasons);
  // The print is a mapping file, and its comments change nothing.
  expect(mappingSchema.parse(parse(text))).toEqual(mapping);
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index) =>
    line.startsWith('# ') ? [`${lines[index + 1]!.replace(/:( .*)?$/, '')}: ${line.slice(2)}`] : [],
  );
}

test('a guessed mapping has a reason above each line', async () => {
  expect(await printed(log, {})).toEqual([
    'skipLines: 2 lines stand above the names of the columns: "Export".',
    'column: Its values are times, such as "01.02.2026 00:00".',
    'zone: The times have no zone, so the zone of workgroup acme is used. If the file has another zone, write it, such as Etc/UTC.',
    'id: No column names a device, and workgroup acme has no configured devices. All rows get this id. Replace it with the id or the name of your device.',
    'fields: No column names a source, so all readings have the source "default". For another source write source: { name: roof }.',
    'Zähler: Read by energyStreams.0 (total_energy, kWh), energyStreams.1 (daily_energy, kWh).',
    'Leistung: Read by no energy stream.',
    'Einheit: Read by energyStreams.0 as its unit.',
    'decimal: Most numbers have a comma.',
  ]);
});

test('a guess uses the device of the workgroup only if there is exactly one', async () => {
  expect(await printed(log, { devices: [{ id: DEVICE, name: 'garage' }] })).toContain(
    'id: No column names a device. This is the only device of workgroup acme.',
  );
  expect(await printed(log, { devices: [{ id: DEVICE }, { id: OTHER_DEVICE }] })).toContain(
    'id: No column names a device, and workgroup acme has 2 devices, so the device is unknown. All rows get this id. Replace it with the id or the name of your device.',
  );
});

test('a guess names the columns of devices and sources, and dates if their day and month could be swapped', async () => {
  const rows = ['01/02/2026', '02/02/2026', '01/03/2026'].map((day) => `${day} 00:00,SN-1,roof,5\n`);
  expect(await printed(`time,device,source,Zähler\n${rows.join('')}`, {})).toEqual([
    'column: Its values are times, such as "01/02/2026 00:00".',
    'format: "%m/%d/%Y %H:%M" fits too. With the chosen format the times fall less often.',
    expect.stringMatching(/^zone: /),
    'column: Its name means a device.',
    'names: No configured device has these names. Each name gets an id that follows from it. Replace them with the ids of your devices.',
    'column: Its name means a source.',
    expect.stringMatching(/^Zähler: /),
  ]);
});
