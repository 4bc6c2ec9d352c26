// @module-tag slow
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import type { StatusAnswer } from '../../src/operate/status-schema.ts';
import { isSoak } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { GARAGE, homeWorkgroup, openSharedService, readings } from './operate-fixture.ts';

let shared: Awaited<ReturnType<typeof openSharedService>>;
beforeAll(async () => {
  shared = await openSharedService(['filled', 'billed'], homeWorkgroup, {
    exports: [
      {
        id: 'billing',
        workgroup: 'billed',
        report: 'daily_energy',
        range: 'last_month',
        format: 'csv',
        schedule: '0 6 3 * *',
        destination: { folder: './delivered' },
      },
    ],
  });
});
afterAll(() => shared?.close());

interface Backfills {
  backfills: Array<{ id: number; state: string; messagesLanded: number }>;
  total: number;
}

test.runIf(isSoak)(
  'a backfill is previewed, started by an administrator, listed, audited and not cancelled twice',
  async () => {
    const at = shared.of('filled');
    await at.send(readings(GARAGE, ['2026-05-16T22:00:00Z', 1_000], ['2026-05-17T10:00:00Z', 2_000]));
    await at.untilAnswer<StatusAnswer>('status', ({ storedMessages }) => storedMessages === 2);
    const from = new Date(Date.now() - DAY_MS).toISOString();
    const body = { source: 'stream', from };

    const reader = await at.issue({ permissions: ['search:read'] });
    for (const [method, path] of [
      ['POST', 'backfills'],
      ['POST', 'backfills/preview'],
      ['DELETE', 'backfills/1'],
      ['POST', 'quarantine/retry'],
    ] as const) {
      const refused = await at.ask(method, path, { token: reader, ...(method === 'POST' && { body }) });
      expect([path, refused]).toMatchObject([path, { status: 403, body: { required: ['org:admin'] } }]);
    }
    const plan = await at.ask('POST', 'backfills/preview', { body });
    expect(plan).toMatchObject({
      status: 200,
      body: { source: 'stream', messages: 2, dayCount: expect.any(Number) },
    });
    expect((await at.get('backfills')).body).toEqual({ backfills: [], total: 0 });

    const started = await at.ask('POST', 'backfills', { body });
    expect(started).toMatchObject({ status: 202, body: { id: 1, source: 'stream', from } });
    const { backfills } = await at.untilAnswer<Backfills>(
      'backfills',
      (answer) => answer.backfills[0]?.state === 'done',
    );
    expect(backfills).toMatchObject([
      { id: 1, messagesLanded: 0, progress: null, pieces: expect.any(Number) },
    ]);

    const [columns, row, ...others] = await at.csv('backfills');
    expect(columns).toMatch(/^backfill,reads,from_time,to_time,.*,messages_landed,progress$/);
    expect(row).toMatch(/^1,stream,2[^,]+Z,[^,]*,,done,/);
    expect(others).toEqual([]);

    expect(await at.ask('DELETE', 'backfills/1')).toMatchObject({ status: 404, body: { error: 'NotFound' } });
    expect(await at.ask('DELETE', 'backfills/x')).toMatchObject({ status: 400, body: { parameter: 'id' } });
    expect((await at.get('gaps')).body).toEqual({ gaps: [], total: 0 });
    expect(await at.csv('gaps')).toEqual(['gap,reason,from_time,to_time,detected_at,available,note']);

    const { entries } = await at.untilAnswer<{
      entries: Array<{ actor: string; action: string }>;
      next: string | null;
    }>('audit', (answer) => answer.entries.some(({ action }) => action === 'backfill.cancelled'));
    expect(entries.find(({ action }) => action === 'backfill.requested')).toMatchObject({
      actor: expect.stringMatching(/^token:\S+ /),
      target: 'stream',
      data: { source: 'stream', fromMs: Date.parse(from) },
    });
    const [newest, second] = entries;
    const [titles, line] = await at.csv('audit?limit=1');
    expect(titles).toBe('happened_at,actor,action,target,data');
    expect(line).toContain(`Z,${newest!.actor},${newest!.action},`);
    const page = (await at.get('audit?limit=1')).body as { entries: unknown[]; next: string };
    expect(page.entries).toEqual([newest]);
    const next = (await at.get(`audit?limit=1&before=${page.next}`)).body as { entries: unknown[] };
    expect(next.entries).toEqual([second]);
    const last = (await at.get(`audit?limit=${entries.length}`)).body as { next: null };
    expect(last.next).toBeNull();
  },
);

test('a wrong request is refused by its member', async () => {
  const at = shared.of('filled');
  for (const [body, parameter] of [
    [{ source: 'stream' }, 'from'],
    [{ source: 'stream', from: 'yesterday' }, 'from'],
    [{ source: 'stream', from: '2026-05-17', to: '2026-05-17' }, 'to'],
    [{ source: 'gaps', from: '2026-05-17' }, 'from'],
    [{ source: 'archive', from: '2026-05-17', table: 'other' }, 'table'],
    [{ source: 'files' }, 'source'],
    [{ source: 'gaps', messagesPerSecond: 0 }, 'messagesPerSecond'],
  ]) {
    const answer = await at.ask('POST', 'backfills', { body });
    expect([body, answer]).toMatchObject([body, { status: 400, body: { parameter } }]);
    // The words are not the words of the command line.
    expect(JSON.stringify(answer.body)).not.toContain('--');
  }
});

test('the body of an action has at most 4,096 bytes', async () => {
  const answer = await shared.of('filled').ask('POST', 'backfills', { body: { source: 'x'.repeat(4_096) } });
  expect(answer).toMatchObject({
    status: 413,
    body: { message: expect.stringContaining('at most 4,096 bytes') },
  });
});

interface Exports {
  exports: Array<{ id: string; runs: Array<{ state: string; name: string }>; nextAt: string | null }>;
}

test.runIf(isSoak)(
  'an import is listed with its rejected rows, and an export is run by hand once',
  async () => {
    const at = shared.of('billed');
    expect((await at.get('imports')).body).toEqual({ imports: [], next: null });
    writeFileSync(
      join(shared.cwd, 'meter.csv'),
      'time,device,total_wh\n2026-05-16T22:00:00Z,garage,1000\n2026-05-17T10:00:00Z,garage,2000\nnonsense,garage,3\n2026-05-17T22:00:00Z,garage,4000\n',
    );
    const mapping = 'time: { column: time }\ndevice: { column: device }\nfields: { total_wh: total_wh }\n';
    writeFileSync(join(shared.cwd, 'mapping.yaml'), mapping);
    const command = [
      'import',
      'meter.csv',
      '--workgroup',
      'billed',
      '--table',
      'solar',
      '--mapping',
      'mapping.yaml',
    ];
    expect(await runCommand(command, { cwd: shared.cwd })).toMatchObject({ code: 0 });
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
    expect(JSON.stringify(listed)).not.toContain(shared.cwd);
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
    expect(readdirSync(join(shared.cwd, 'delivered'))).toEqual(['billing_2026-05.csv']);
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
  },
);

test('alerts that no channel receives are not snoozed and not seen, and the answer says why', async () => {
  const at = shared.of('filled');
  for (const [path, body] of [
    ['alerts/snooze', { condition: 'gap', minutes: 5 }],
    ['alerts/seen', { condition: 'gap' }],
  ] as const)
    expect([path, await at.ask('POST', path, { body })]).toMatchObject([
      path,
      {
        status: 400,
        body: {
          parameter: 'alerts',
          message: 'alerts: no channel of the configuration receives the alerts of this workgroup',
        },
      },
    ]);
});
