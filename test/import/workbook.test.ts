import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workbookOf } from '../foreign-table/zip-files.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Days from 1899-12-30 to 2026-06-01. */
const FIRST_DAY = 46_174;

/** A title line, a heading in two lines, and a register of every hour of a day: 24 kWh. */
function report(): Buffer {
  const rows = Array.from(
    { length: 25 },
    (_, hour) =>
      `<row><c s="2"><v>${FIRST_DAY + hour / 24}</v></c><c t="inlineStr"><is><t>garage</t></is></c><c><v>${100 + hour}.5</v></c></row>`,
  );
  const heading = ['Time', 'Device', 'total\nenergy']
    .map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`)
    .join('');
  const data = `<row><c t="inlineStr"><is><t>My report</t></is></c></row><row/><row>${heading}</row>${rows.join('')}`;
  return workbookOf({
    Hidden: '<row><c><v>1</v></c></row>',
    Cover: '',
    Data: data,
    Notes: '<row><c><v>1</v></c></row>',
  });
}

const config = `
pipeline: { warehouseThreads: 1 }
workgroups:
  - id: home
    timezone: Europe/Paris
    devices: [{ id: 7c9e6679-7425-40de-944b-e07fc1f90ae7, name: garage }]
    energyStreams: [{ table: solar, field: total energy, method: total_energy, unit: kWh, maxPower: 10 kW }]
`;

test('an XLSX workbook is previewed and imported once', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  writeFileSync(join(cwd, 'report.xlsx'), report());
  const args = ['import', 'report.xlsx', '--table', 'solar'];
  const dry = await runCommand([...args, '--dry-run'], { cwd });
  expect(dry.code, dry.stderr).toBe(0);
  expect(dry.stderr).toContain(
    'report.xlsx: sheet "Data" is read; the sheets are "Hidden", "Cover", "Data", "Notes", and --sheet chooses another one',
  );
  expect(dry.stdout).toContain(
    'report.xlsx: 25 rows, 0 rejected, from 2026-05-31T22:00:00.000Z to 2026-06-01T22:00:00.000Z',
  );
  const json = async (run = runCommand) => JSON.parse((await run([...args, '--json'], { cwd })).stdout);
  expect(await json(runCli)).toMatchObject({
    files: [
      {
        path: join(cwd, 'report.xlsx'),
        outcome: { kind: 'landed', counts: { rowsLanded: 25, rowsRejected: 0 } },
      },
    ],
    months: [{ month: '2026-06', energyWh: 24_000 }],
  });
  const { stdout } = await runCommand(['status', '--json'], { cwd });
  expect(stdout).toContain(join(cwd, 'report.xlsx'));
  expect(stdout).not.toContain('report.xlsx.csv');
  // The same workbook makes the same table, which is known.
  expect(await json()).toMatchObject({ files: [{ outcome: { kind: 'landed-before' } }] });
  const refused = async (...more: string[]) => {
    const { code, stderr } = await runCommand([...args, ...more], { cwd });
    expect(code).toBe(2);
    return stderr;
  };
  expect(await refused('--sheet', 'Sheet1')).toContain(
    'has no sheet "Sheet1"; its sheets are "Hidden", "Cover", "Data", "Notes"',
  );
  writeFileSync(join(cwd, 'report.xlsx'), workbookOf({ Data: '<row><c><v>1</v></c></row>'.repeat(9) }));
  expect(await refused()).toMatch(/^wattline: report\.xlsx\.csv has a problem/);
  // A small file. Each of its rows becomes 16,384 cells.
  writeFileSync(
    join(cwd, 'report.xlsx'),
    workbookOf({ Wide: '<row><c r="XFD1"><v>1</v></c></row>'.repeat(1_300) }),
  );
  expect(await refused()).toContain(
    'has more than 20,000,000 cells in sheet "Wide", with those that are empty',
  );
  writeFileSync(join(cwd, 'report.xlsx'), Buffer.from('d0cf11e0a1b11ae1', 'hex'));
  expect(await refused()).toContain('is an old .xls file, or is protected by a password');
  writeFileSync(join(cwd, 'report.xlsx'), report().subarray(0, 900));
  expect(await refused()).toContain('is not a ZIP archive, or is cut off');
});
