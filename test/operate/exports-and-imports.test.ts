import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';
import { homeWorkgroup, openService } from './support.ts';

interface Exports {
  exports: Array<{ id: string; runs: Array<{ state: string; name: string }>; nextAt: string | null }>;
}

test('an import is listed with its rejected rows, and an export is run by hand once', async () => {
  const folder = tempDir();
  mkdirSync(folder, { recursive: true });
  const at = await openService({
    workgroups: [homeWorkgroup],
    exports: [
      {
        id: 'billing',
        workgroup: 'home',
        report: 'daily_energy',
        range: 'last_month',
        format: 'csv',
        schedule: '0 6 3 * *',
        destination: { folder },
      },
    ],
  });
  expect((await at.get('imports')).body).toEqual({ imports: [], next: null });
  writeFileSync(
    join(at.cwd, 'meter.csv'),
    'time,device,total_wh\n2026-05-16T22:00:00Z,garage,1000\n2026-05-17T10:00:00Z,garage,2000\nnonsense,garage,3\n2026-05-17T22:00:00Z,garage,4000\n',
  );
  const mapping = 'time: { column: time }\ndevice: { column: device }\nfields: { total_wh: total_wh }\n';
  writeFileSync(join(at.cwd, 'mapping.yaml'), mapping);
  const command = [
    'import',
    'meter.csv',
    '--workgroup',
    'home',
    '--table',
    'solar',
    '--mapping',
    'mapping.yaml',
  ];
  expect(await runCli(command, { cwd: at.cwd })).toMatchObject({ code: 0 });
  const listed = (await at.get('imports')).body as { imports: unknown[] };
  expect(listed).toMatchObject({
    imports: [
      {
        id: 1,
        file: 'meter.csv',
        table: 'solar',
        state: 'landed',
        rowsRead: 4,
        rowsLanded: 3,
        rowsRejected: 1,
      },
    ],
    next: null,
  });
  expect(Object.values((listed.imports[0] as { rejected: Record<string, number> }).rejected)).toEqual([1]);
  expect(JSON.stringify(listed)).not.toContain(at.cwd);
  const [titles, row, ...others] = await at.csv('imports');
  expect(titles).toBe(
    'import,file,table_name,state,bytes,rows_read,rows_landed,rows_rejected,rejected,started_at,updated_at,rows_expected',
  );
  expect(row).toMatch(/^1,meter\.csv,solar,landed,\d+,4,3,1,"\{""\w+"":1\}",2\d{3}-\S+Z,2\d{3}-\S+Z,$/);
  expect(others).toEqual([]);

  const before = (await at.get('exports')).body as Exports;
  expect(before.exports).toMatchObject([
    { id: 'billing', destination: 'folder', schedule: '0 6 3 * *', timezone: 'Europe/Paris', runs: [] },
  ]);
  expect(before.exports[0]!.nextAt).toMatch(/^20/);
  const [, unused, ...moreExports] = await at.csv('exports');
  expect(unused).toMatch(
    /^billing,daily_energy,last_month,csv,folder,0 6 3 \* \*,Europe\/Paris,20[^,]+Z,,+$/,
  );
  expect(moreExports).toEqual([]);
  const run = (body: unknown, token?: string) =>
    at.ask('POST', 'exports/billing/run', { body, ...(token && { token }) });
  expect(await run({}, await at.issue({ permissions: ['search:read'] }))).toMatchObject({ status: 403 });
  expect(await run({ period: 'may' })).toMatchObject({ status: 400, body: { parameter: 'period' } });
  expect(await run({ period: '2099-01' })).toMatchObject({ status: 400, body: { parameter: 'period' } });
  expect(await at.ask('POST', 'exports/other/run', { body: {} })).toMatchObject({ status: 404 });

  const period = '2026-05';
  expect(await run({ period })).toMatchObject({
    status: 200,
    body: {
      outcome: 'delivered',
      run: { name: period, state: 'delivered', reason: 'by hand', file: { rows: 1 } },
    },
  });
  expect(readdirSync(folder)).toEqual(['billing_2026-05.csv']);
  expect(await run({ period })).toMatchObject({ body: { outcome: 'already-delivered' } });
  expect(await run({ period, corrected: true })).toMatchObject({ body: { run: { name: '2026-05_r2' } } });
  const after = (await at.get('exports')).body as Exports;
  expect(after.exports[0]!.runs.map(({ name }) => name)).toEqual(['2026-05_r2', '2026-05']);
  const [heading, ...runs] = await at.csv('exports');
  const cell = (line: string | undefined, name: string) =>
    line!.split(',')[heading!.split(',').indexOf(name)];
  expect(runs.map((line) => cell(line, 'run'))).toEqual(['2026-05_r2', '2026-05']);
  expect(runs.map((line) => cell(line, 'state'))).toEqual(['delivered', 'delivered']);
  expect(runs.map((line) => cell(line, 'file_rows'))).toEqual(['1', '1']);
});
