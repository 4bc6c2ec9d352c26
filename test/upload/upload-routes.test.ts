import { readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { takeUpload } from '../../src/upload/take-upload.ts';
import { type AskToTake, registerUploadRoutes } from '../../src/upload/upload-routes.ts';
import { recordingLog } from '../http/start-http-server.ts';
import { openTestShard, WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';

const csv = 'meter_code,period,energy_kwh,scenario\nPV,2026-05,1250,P50\nPV,2026-06,1300.5,P50\n';

/** The routes on a real warehouse and real access, over a real port. */
async function openRoutes(instead?: AskToTake) {
  const dataDir = tempDir();
  const clock = createTestClock();
  const { shard } = await openTestShard(dataDir, { clock });
  onTestFinished(() => shard.close());
  const access = await createAccess({ dataDir, issuer: 'wattline', clock });
  const { workgroups } = configSchema.parse({
    workgroups: [{ id: WORKGROUP, meters: [{ code: 'PV' }], deviceGroups: { some: [] } }],
  });
  const audit = createAudit({ dataDir, actor: 'test', clock });
  const events: Array<[string, Record<string, unknown>]> = [];
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000, clock });
  /** Runs once the body of an upload has come as a whole. */
  const arrived = { run: () => {} };
  app.addHook('preHandler', async () => arrived.run());
  registerUploadRoutes(app, {
    take:
      instead ??
      (async (_, request) => ({
        kind: 'answer',
        answer: await takeUpload(shard, request, { audit, clock, logger: recordingLog(events) }),
      })),
    recheck: access.recheck,
    dataDir,
    workgroups: createWorkgroups({ workgroups }),
    clock,
    logger: silentLogger,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/v1/orgs/${WORKGROUP}`;
  const issue = async (scope: IssueRequest['scopes'][string]) =>
    (await access.issue({ subject: 'dash', scopes: { [WORKGROUP]: scope }, lifetimeMs: HOUR_MS })).token;
  const writer = await issue({ permissions: ['data:write'] });
  const put = async (
    path: string,
    body: string | Buffer<ArrayBuffer>,
    {
      type = 'text/csv',
      token = writer,
      encoding,
    }: { type?: string; token?: string; encoding?: string } = {},
  ) => {
    const headers = {
      'Content-Type': type,
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(encoding && { 'Content-Encoding': encoding }),
    };
    const response = await fetch(`${base}/${path}`, { method: 'PUT', body, headers });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  };
  const staged = () => readdirSync(join(dataDir, 'uploads'));
  const recorded = () => {
    const spool = openAuditSpool(dataDir, WORKGROUP);
    return spool.waiting().map((name) => spool.read(name)!);
  };
  return { shard, access, recorded, events, issue, put, staged, arrived };
}

test('a budget is stored, its rows again are not, and both are answered', async () => {
  const { put, recorded, events, staged } = await openRoutes();
  const first = await put('budget-data?name=may.csv', csv);
  expect(first).toMatchObject({
    status: 200,
    body: { outcome: 'stored', accepted: 2, stored: 2, unchanged: 0, replaced: 0, revision: 1, uploadId: 1 },
  });
  const again = JSON.stringify([
    { meter_code: 'PV', period: '2026-05', energy: 1250, unit: 'kWh', scenario: 'P50' },
    { meter_code: 'PV', period: '2026-06', energy: 1.3005, unit: 'MWh', scenario: 'p50' },
  ]);
  // Other bytes, the same rows.
  expect(await put('budget-data', again, { type: 'application/json' })).toMatchObject({
    status: 200,
    body: { outcome: 'stored-before', accepted: 2, revision: 1, uploadId: 1 },
  });
  expect(recorded()).toMatchObject([
    {
      action: 'budget.uploaded',
      target: 'may.csv',
      data: { uploadId: 1, accepted: 2, stored: 2, revision: 1 },
    },
  ]);
  // The caller finds the event of the log by the header of its answer.
  expect(events[0]).toEqual([
    'upload.stored',
    expect.objectContaining({ requestId: first.headers.get('x-request-id') }),
  ]);
  expect(staged()).toEqual([]);
});

test('meter data are stored with the parameters of the URL, and a dry run stores nothing', {
  tags: ['slow'],
}, async () => {
  const { put, shard } = await openRoutes();
  const body = 'time,value\n2026-05-01 00:00,100\n2026-05-02 00:00,150\n';
  const said = 'meter=PV&unit=kWh&timezone=Europe/Berlin';
  const count = () =>
    shard.transaction(
      async (connection) =>
        (await connection.runAndReadAll('SELECT count(*)::INTEGER FROM meter_register')).getRows()[0]![0],
    );
  expect(await put(`meter-data?${said}&dryRun=true`, body)).toMatchObject({
    status: 200,
    body: { outcome: 'checked', accepted: 2 },
  });
  expect(await count()).toBe(0);
  expect(await put(`meter-data?${said}`, body)).toMatchObject({
    status: 200,
    body: { outcome: 'stored', stored: 2 },
  });
  expect(await count()).toBe(2);
});

test('a refusal lists the lines, and nothing is stored', async () => {
  const { put, staged } = await openRoutes();
  const { status, body } = await put('budget-data', `${csv}PV,soon,-1,P50\nnope,2026,1,P50\n`);
  expect(status).toBe(400);
  expect(body).toMatchObject({
    error: 'InvalidRequest',
    message: expect.stringMatching(
      /^nothing was stored: line 4, column "period": "soon" is not a period.*\(and 2 more\)$/,
    ),
    problemCount: 3,
    problems: [
      { line: 4, column: 'period' },
      { line: 4, column: 'energy_kwh', message: expect.stringContaining('negative') },
      { line: 5, column: 'meter_code' },
    ],
  });
  expect(staged).toThrow(/ENOENT/);
  const messageOf = async (lines: string) => (await put('budget-data', `${csv}${lines}`)).body.message;
  expect(await messageOf('PV,soon,1,P50\nnope,2026,1,P50\n')).toMatch(/ \(and 1 more\)$/);
  expect(await messageOf('nope,2026,1,P50\n')).not.toContain('more)');
});

test('an upload that would cut a stored period is refused with its line', { tags: ['slow'] }, async () => {
  const { put, staged } = await openRoutes();
  const head = 'meter_code,period_start,period_end,energy_kwh,scenario';
  await put('budget-data', `${head}\nPV,2026-01-01,2026-03-31,10,P50`);
  expect(await put('budget-data', `${head}\nPV,2026-03-01,2026-04-15,10,P50`)).toMatchObject({
    status: 400,
    body: { problems: [{ line: 2 }] },
  });
  expect(staged()).toEqual([]);
});

test('a body is not stored if its token is revoked while it waits', async () => {
  const { put, access, shard, staged, arrived } = await openRoutes();
  const { token, tokenId } = await access.issue({
    subject: 'dash',
    scopes: { [WORKGROUP]: { permissions: ['data:write'] } },
    lifetimeMs: HOUR_MS,
  });
  arrived.run = () => void access.revoke(tokenId);
  expect(await put('budget-data', csv, { token })).toMatchObject({
    status: 401,
    body: { error: 'InvalidToken' },
  });
  expect(staged()).toEqual([]);
  expect(await rowsOf(shard, 'SELECT count(*)::INTEGER AS budgets FROM budget')).toEqual([{ budgets: 0 }]);
});

test('only a token that may write, and of all devices, uploads', async () => {
  const { put, issue } = await openRoutes();
  const reader = await issue({ permissions: ['search:read', 'org:audit'] });
  const some = await issue({ permissions: ['data:write'], deviceGroups: ['some'] });
  expect(await put('budget-data', csv, { token: '' })).toMatchObject({ status: 401 });
  expect(await put('budget-data', csv, { token: reader })).toMatchObject({
    status: 403,
    body: { error: 'InsufficientScope', required: ['data:write'] },
  });
  expect(await put('budget-data', csv, { token: some })).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('device groups') },
  });
});

test('a parameter that is wrong is refused by its name', async () => {
  const { put } = await openRoutes();
  for (const query of ['timezone=Mars', 'unit=kW', 'year=26', 'interval=1', 'dryRun=yes']) {
    const [parameter] = query.split('=');
    expect(await put(`budget-data?${query}`, csv)).toMatchObject({ status: 400, body: { parameter } });
  }
});

test('an unknown parameter is refused with a suggestion', async () => {
  const { put, shard } = await openRoutes();
  for (const [query, message] of [
    ['dryrun=true', /^dryrun: is not a known parameter; is it dryRun\? This request takes timezone, unit, /],
    ['zone=Europe/Paris', /; is it timezone\?/],
    ['year=2026&dryRun=', /^dryRun: is empty; give it a value, or leave it out$/],
    ['scenario=P50&scenario=P90', /^scenario: is given 2 times; give it once$/],
  ] as const)
    for (const path of ['budget-data', 'meter-data'])
      expect(await put(`${path}?${query}`, csv)).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(message) },
      });
  expect(await rowsOf(shard, 'SELECT count(*)::INTEGER AS budgets FROM budget')).toEqual([{ budgets: 0 }]);
});

test('other types and larger bodies are refused', { tags: ['slow'] }, async () => {
  const { put } = await openRoutes();
  expect(await put('budget-data', csv, { type: 'application/xml' })).toMatchObject({
    status: 415,
    body: { message: 'Content-Type: send text/csv or application/x-ndjson or application/json' },
  });
  expect(await put('budget-data', csv, { type: 'text/csv; charset=utf-8' })).toMatchObject({ status: 200 });
  expect(await put('budget-data', gzipSync(csv), { encoding: 'gzip' })).toMatchObject({
    status: 415,
    body: { message: expect.stringContaining('send the body uncompressed') },
  });
  expect(await put('budget-data', Buffer.alloc(2 * 1024 * 1024 + 1, 'x'))).toMatchObject({
    status: 413,
    body: { message: expect.stringContaining('Upload a larger file with "wattline budget put"') },
  });
  expect(await put('budget-data', '')).toMatchObject({
    status: 400,
    body: { problems: [{ line: 0, message: expect.stringContaining('is empty') }] },
  });
});

test('if no worker has the warehouse open, the answer has a Retry-After and nothing is stored', async () => {
  const { put, staged } = await openRoutes(async () => ({ kind: 'not-running' }));
  const { status, headers, body } = await put('budget-data', csv);
  expect([status, headers.get('retry-after'), body.error, body.retryable]).toEqual([
    503,
    '10',
    'StorageUnavailable',
    true,
  ]);
  expect(staged()).toEqual([]);
});

test('a large body is read in a thread, so that other callers do not wait', { tags: ['slow'] }, async () => {
  const { put, staged, arrived } = await openRoutes();
  const bodies = ['a,'.repeat(1_000_000), `meter_code,${'c,'.repeat(900_000)}\n1`];
  for (const body of bodies) {
    const answered: string[] = [];
    const other = Promise.withResolvers<void>();
    arrived.run = () => {
      arrived.run = () => {};
      // On the event loop, the large body would be read before this request is sent.
      other.resolve(put('budget-data?dryRun=true', csv).then(() => void answered.push('other')));
    };
    const large = await put('meter-data', body);
    answered.push('large');
    await other.promise;
    expect(large).toMatchObject({ status: 400, body: { error: 'InvalidRequest' } });
    expect(answered).toEqual(['other', 'large']);
  }
  const rows = Array.from({ length: 2_000 }, (_, day) => {
    const date = new Date(Date.UTC(2026, 0, 1) + day * DAY_MS).toISOString().slice(0, 10);
    return `PV,${date},1,P50`;
  });
  const large = `meter_code,period,energy_kwh,scenario\n${rows.join('\n')}\n`;
  expect(await put('budget-data', large)).toMatchObject({
    status: 200,
    body: { outcome: 'stored', stored: 2_000 },
  });
  expect(staged()).toEqual([]);
});

test.runIf(isSoak)(
  'a workgroup has some waiting bodies, and the senders of further bodies are asked to repeat them',
  async () => {
    const { put } = await openRoutes();
    const body = 'a,'.repeat(20_000);
    const answers = await Promise.all(Array.from({ length: 40 }, () => put('meter-data', body)));
    const busy = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 400).length).toBe(40 - busy.length);
    expect(busy.length).toBeGreaterThan(0);
    expect(busy[0]!.headers.get('Retry-After')).toBe('2');
  },
);

test('rows of empty cells are no table', async () => {
  const { put } = await openRoutes();
  expect(await put('meter-data', ',\n'.repeat(10))).toMatchObject({
    status: 400,
    body: { message: 'nothing was stored: is empty; its first line must name the columns' },
  });
});
