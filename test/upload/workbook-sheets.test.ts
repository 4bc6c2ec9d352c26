import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workbookOf } from '../foreign-table/zip-files.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const config = `
workgroups:
  - { id: home, timezone: Europe/Berlin, meters: [{ code: PV }] }
`;

/** A sheet with the budget of one month. */
function budgetSheet(energyKwh: number): string {
  const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
  const heading = ['meter_code', 'period', 'energy_kwh'].map(text).join('');
  return `<row r="1">${heading}</row><row r="2">${text('PV')}${text('2026-05')}<c><v>${energyKwh}</v></c></row>`;
}

test('an upload names the sheet that it reads if a workbook has several, and --sheet chooses another one', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  writeFileSync(join(cwd, 'plan.xlsx'), workbookOf({ May: budgetSheet(310), June: budgetSheet(320) }));
  writeFileSync(join(cwd, 'one.xlsx'), workbookOf({ May: budgetSheet(310) }));
  writeFileSync(join(cwd, 'plan.csv'), 'meter_code,period,energy_kwh\nPV,2026-05,310\n');
  const put = (...args: string[]) =>
    runCommand(['budget', 'put', ...args, '--scenario', 'P50', '--dry-run'], { cwd });

  const first = await put('plan.xlsx');
  expect(first.stdout).toMatch(/PV +P50 +1 .* 310\n/);
  expect(first.stderr.trim()).toBe(
    'wattline: plan.xlsx: sheet "May" is read; the sheets are "May", "June", and --sheet chooses another one',
  );
  const chosen = await put('plan.xlsx', '--sheet', 'June');
  expect(chosen.stdout).toMatch(/PV +P50 +1 .* 320\n/);
  expect(await put('one.xlsx')).toMatchObject({ code: 0, stderr: '' });
  expect(await put('plan.xlsx', '--sheet', 'July')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no sheet "July"; its sheets are "May", "June"'),
  });
  expect(await put('plan.csv', '--sheet', 'May')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is for XLSX files'),
  });
});
