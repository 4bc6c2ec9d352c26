import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import {
  type CorrectionRoutesOptions,
  registerCorrectionRoutes,
} from '../../src/correction/correction-routes.ts';
import type { ListedCorrection } from '../../src/correction/list-corrections.ts';
import { listCorrections } from '../../src/correction/list-corrections.ts';
import { storeAuditedCorrection } from '../../src/correction/store-correction.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { answerCorrections } from '../../src/operate/answer-corrections.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { DEVICE, type EnergySite, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { filledShard } from '../warehouse/warehouse-fixture.ts';

const WORKGROUP = 'acme';
const OTHER = '00000000-0000-4000-8000-000000000002';
const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [{ table: 't', field: 'energy', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' }],
};
const NOW_MS = Date.UTC(2026, 5, 10);
const day = {
  kind: 'set_day',
  device: DEVICE,
  source: 'default',
  day: '2026-06-02',
  energyWh: 5_000,
  reason: 'the bill',
};

/** Two devices with 2400 Wh each on 2 June. */
const openPlant = filledShard(async (shard) => {
  for (const device of [DEVICE, OTHER])
    await landReadings(shard, [
      { device, event_time: '2026-06-01T22:00:00Z', data: { energy: 0 } },
      { device, event_time: '2026-06-02T22:00:00Z', data: { energy: 2_400 } },
    ]);
  await rollUpSite(shard, site, NOW_MS);
});

/**
 * The routes on a real warehouse and real access, over a real port; what asks the owner of the warehouse asks
 * it directly.
 */
async function openRoutes(instead: Partial<CorrectionRoutesOptions> = {}) {
  const dataDir = tempDir();
  const clock = createTestClock(NOW_MS);
  const shard = await openPlant(clock);
  const access = await createAccess({ dataDir, issuer: 'wattline', clock });
  const audit = createAudit({ dataDir, actor: 'test', clock });
  const workgroups = createWorkgroups(
    configSchema.parse({
      workgroups: [{ id: WORKGROUP, timezone: site.timezone, deviceGroups: { mine: [DEVICE] } }],
    }),
  );
  const lake = await openLakeReader({
    lakeDir: join(dataDir, 'lake'),
    hasPublished: () => false,
    threads: 1,
  });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000, clock });
  const answered = async <Answer>(work: Promise<Answer>) =>
    work.then(
      (answer) => ({ kind: 'answer' as const, answer }),
      (error: Error) => ({ kind: 'failed' as const, error }),
    );
  registerCorrectionRoutes(app, {
    correct: (_, { request, ...options }) =>
      answered(
        storeAuditedCorrection(shard, request, {
          ...options,
          nowMs: clock.now(),
          closeAfterMs: 2 * DAY_MS,
          audit,
          logger: silentLogger,
        }),
      ),
    list: (_, asked) =>
      answered(shard.read((connection) => listCorrections(connection, asked, site.timezone))),
    workgroups,
    answer: answerCorrections(lake),
    ...instead,
  });
  onTestFinished(() => lake.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    // The client keeps connections open, and `close` would wait for them.
    app.server.closeAllConnections();
    await app.close();
  });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/v1/orgs/${WORKGROUP}/corrections`;
  const issue = async (scope: IssueRequest['scopes'][string]) =>
    (await access.issue({ subject: 'dash', scopes: { [WORKGROUP]: scope }, lifetimeMs: HOUR_MS })).token;
  const both = await issue({ permissions: ['search:read', 'data:correct'] });
  const ask = async (
    method: string,
    query: string,
    { body, token = both }: { body?: unknown; token?: string } = {},
  ) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${url}${query}`, {
      method,
      headers,
      ...(body !== undefined && { body: text }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    audit,
    /** The entries for the audit log. */
    noted() {
      const spool = openAuditSpool(dataDir, WORKGROUP);
      return spool.waiting().map((name) => spool.read(name)!);
    },
    shard,
    issue,
    post: (body: unknown, more: { query?: string; token?: string } = {}) =>
      ask('POST', more.query ?? '', { body, ...(more.token && { token: more.token }) }),
    /** The lines of the list as CSV. */
    async csv() {
      const headers = { Authorization: `Bearer ${both}`, Accept: 'text/csv' };
      return (await (await fetch(url, { headers })).text()).trimEnd().split('\r\n');
    },
    get: (query = '', token?: string) => ask('GET', query, token ? { token } : {}),
  };
}

test('a correction is stored with what it changes, listed, and undone once', async () => {
  const { post, get, csv, audit, noted } = await openRoutes();
  const changes = [{ day: '2026-06-02', device: DEVICE, source: 'default', beforeWh: 2_400, afterWh: 5_000 }];
  const checked = await post(day, { query: '?dryRun=true' });
  expect(checked).toMatchObject({
    status: 200,
    body: { outcome: 'checked', correction: { id: 1, days: changes } },
  });
  expect((await get()).body).toEqual({ corrections: [] });
  expect(audit.waiting(WORKGROUP)).toBe(0);

  const stored = await post(day);
  expect(stored).toMatchObject({
    status: 200,
    body: {
      outcome: 'stored',
      correction: {
        id: 1,
        kind: 'set_day',
        from: '2026-06-01T22:00:00.000Z',
        to: '2026-06-02T22:00:00.000Z',
        energyWh: 5_000,
        author: expect.stringMatching(/^token:\S+ dash$/),
        undoneBy: null,
        days: changes,
      },
    },
  });
  expect(audit.waiting(WORKGROUP)).toBe(1);
  expect((await get('?day=2026-06-02')).body).toMatchObject({ corrections: [{ id: 1 }] });
  expect((await get('?day=2026-06-03')).body).toEqual({ corrections: [] });

  expect(await post({ kind: 'undo', correction: 1, reason: 'no' })).toMatchObject({ status: 200 });
  expect(await post({ kind: 'undo', correction: 1, reason: 'no' })).toMatchObject({
    status: 400,
    body: { parameter: 'correction', message: 'correction: 1 is undone already, by 2' },
  });
  expect(noted()).toMatchObject([
    { action: 'correction.created', target: '1', data: { id: 1, days: 1, reason: 'the bill' } },
    { action: 'correction.undone', target: '1', data: { id: 2, days: 1, reason: 'no' } },
  ]);
  expect((await get('?inForce=true')).body).toEqual({ corrections: [] });
  expect((await get('?inForce=false')).body).toMatchObject({ corrections: [{ id: 2 }, { id: 1 }] });
  expect((await get('?limit=1')).body).toMatchObject({ corrections: [{ id: 2, kind: 'undo', undoes: 1 }] });
  expect((await get('?before=2')).body).toMatchObject({ corrections: [{ id: 1, undoneBy: 2 }] });
  const [titles, undo, set, ...others] = await csv();
  expect(titles).toBe(
    'correction,kind,device,source,table_name,field,day,timezone,from_time,to_time,energy_wh,changed_days,undoes,undone_by,reason,actor,happened_at',
  );
  expect(undo).toMatch(/^2,undo,.*,1,,no,token:\S+ dash,/);
  expect(set).toContain(
    `1,set_day,${DEVICE},default,,,2026-06-02,Europe/Paris,2026-06-01T22:00:00Z,2026-06-02T22:00:00Z,5000,1,,2,the bill,`,
  );
  expect(others).toEqual([]);
});

test('the same request with the same key is stored once, and another one with it is refused', {
  tags: ['slow'],
}, async () => {
  const { post, get } = await openRoutes();
  expect(await post({ ...day, key: 'a' })).toMatchObject({ body: { outcome: 'stored' } });
  expect(await post({ ...day, key: 'a' })).toMatchObject({
    status: 200,
    body: { outcome: 'stored-before', correction: { id: 1 } },
  });
  expect(await post({ ...day, energyWh: 1, key: 'a' })).toMatchObject({
    status: 400,
    body: { parameter: 'key' },
  });
  expect((await get()).body.corrections).toHaveLength(1);
});

const between = (from: string, to: string) => ({
  kind: 'set',
  device: DEVICE,
  source: 'default',
  from: `2026-06-${from}Z`,
  to: `2026-06-${to}Z`,
  energyWh: 1,
  reason: 'x',
});

const refused: ReadonlyArray<readonly [body: object, parameter: string]> = [
  [{ ...day, reason: ' ' }, 'reason'],
  [{ ...day, day: '2026-02-30' }, 'day'],
  [{ ...day, day: '2026-06-10' }, 'day'],
  [{ ...day, day: '9999-12-31' }, 'day'],
  [{ ...day, day: '0000-01-01' }, 'day'],
  [{ ...day, device: 'garage' }, 'device'],
  [{ ...day, device: '00000000-0000-4000-8000-00000000000f' }, 'device'],
  [{ ...day, source: 'roof' }, 'source'],
  [{ ...day, energyWh: 1.5 }, 'energyWh'],
  [{ ...day, energyWh: -1 }, 'energyWh'],
  [{ ...day, energyWh: 1e12 }, 'energyWh'],
  [between('02T10:00:00', '02T10:00:00'), 'to'],
  [between('02T10:01:00', '02T11:00:00'), 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '1969-12-31T23:00Z' }, 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '0000-01-01T00:00+01:00' }, 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), to: '9999-12-31T23:00-10:00' }, 'to'],
  [between('02T10:00:00', '02T11:01:00'), 'to'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '2026-06-02T10:00' }, 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '2026-01-02T10:00Z' }, 'to'],
  [{ ...between('02T10:00:00', '02T11:00:00'), kind: 'fill', energyWh: undefined }, 'from'],
  [
    { ...between('02T10:00:00', '02T11:00:00'), kind: 'exclude', energyWh: undefined, field: 'power' },
    'field',
  ],
  [{ kind: 'undo', correction: 9, reason: 'x' }, 'correction'],
  [{ kind: 'drop', reason: 'x' }, 'kind'],
];

test('a request that cannot be stored is refused, and its parameter named', { tags: ['slow'] }, async () => {
  const { post, get } = await openRoutes();
  for (const [body, parameter] of refused) {
    const { status, body: told } = await post(body);
    expect
      .soft([status, told.parameter, told.message], JSON.stringify(body))
      .toEqual([400, parameter, expect.stringContaining(`${parameter}: `)]);
  }
  expect((await get()).body).toEqual({ corrections: [] });
});

test('energy can be set beside time that is set, but not in it, and the error names the other correction', {
  tags: ['slow'],
}, async () => {
  const { post } = await openRoutes();
  expect(await post(between('02T10:00:00', '02T11:00:00'))).toMatchObject({ status: 200 });
  expect(await post(day)).toMatchObject({
    status: 400,
    body: { message: 'day: correction 1 says a part of this time already; undo that first' },
  });
  expect(await post(between('02T10:45:00', '02T12:00:00'))).toMatchObject({
    status: 400,
    body: { message: 'from: correction 1 says a part of this time already; undo that first' },
  });
  const exclude = { ...between('02T09:00:00', '02T12:00:00'), kind: 'exclude', energyWh: undefined };
  expect(await post(exclude)).toMatchObject({ status: 200 });
  expect(await post(exclude)).toMatchObject({ status: 400, body: { parameter: 'from' } });
  expect(await post({ ...exclude, field: 'power' })).toMatchObject({
    status: 400,
    body: { parameter: 'field' },
  });
  expect(await post({ ...exclude, field: 'energy' })).toMatchObject({
    status: 200,
    body: { correction: { table: null, field: 'energy' } },
  });
  // Energy can also be set where readings are excluded.
  for (const [from, to] of [
    ['02T11:00:00', '02T12:00:00'],
    ['02T09:00:00', '02T10:00:00'],
  ] as const)
    expect(await post(between(from, to))).toMatchObject({ status: 200 });
});

test('only a token with the permission can correct, and one with device groups only its devices', {
  tags: ['slow'],
}, async () => {
  const { post, get, issue } = await openRoutes();
  const writer = await issue({ permissions: ['search:read', 'data:write', 'org:audit'] });
  expect(await post(day, { token: writer })).toMatchObject({
    status: 403,
    body: { required: ['data:correct'] },
  });
  const mine = await issue({ permissions: ['search:read', 'data:correct'], deviceGroups: ['mine'] });
  expect(await post({ ...day, device: OTHER }, { token: mine })).toMatchObject({
    status: 400,
    body: { parameter: 'device' },
  });
  const byOther = {
    ...{ ...between('02T10:00:00', '02T11:00:00'), energyWh: undefined, kind: 'fill', replace: true },
    like: { device: OTHER, source: 'default' },
  };
  expect(await post(byOther, { token: mine })).toMatchObject({
    status: 400,
    body: { message: 'like: no reading of this device has been taken in' },
  });
  await post({ ...day, device: OTHER });
  expect(await post(day, { token: mine })).toMatchObject({ status: 200 });
  expect((await get('', mine)).body).toMatchObject({ corrections: [{ id: 2 }] });
  expect((await get('', mine)).body.corrections).toHaveLength(1);
  expect((await get(`?device=${OTHER}`, mine)).body).toEqual({ corrections: [] });
  const undo = (correction: number) => post({ kind: 'undo', correction, reason: 'x' }, { token: mine });
  expect(await undo(1)).toMatchObject({
    status: 400,
    body: { message: 'correction: there is no correction 1' },
  });
  expect(await undo(2)).toMatchObject({ status: 200 });
  expect(await get('', await issue({ permissions: ['data:correct'] }))).toMatchObject({ status: 403 });
});

test('a token of device groups does not see that an estimate was made from a device of others', {
  tags: ['slow'],
}, async () => {
  const { post, get, issue, shard } = await openRoutes();
  const hours = Array.from({ length: 7 * 24 }, (_, hour) => hour);
  for (const device of [DEVICE, OTHER])
    await landReadings(
      shard,
      hours.map((hour) => ({
        device,
        event_time: new Date(Date.UTC(2026, 5, 2, 23 + hour)).toISOString(),
        data: { energy: 2_500 + hour * 100 },
      })),
    );
  await rollUpSite(shard, site, NOW_MS);
  const fill = { ...between('04T10:00:00', '04T11:00:00'), energyWh: undefined, kind: 'fill', replace: true };
  const stored = await post({ ...fill, like: { device: OTHER, source: 'default' } });
  expect(stored.body).toMatchObject({ correction: { basis: { device: OTHER } } });
  const mine = await issue({ permissions: ['search:read', 'data:correct'], deviceGroups: ['mine'] });
  expect((await get('', mine)).body).toMatchObject({ corrections: [{ id: 1, kind: 'fill', basis: null }] });
  expect(JSON.stringify(await get('', mine))).not.toContain(OTHER);
  expect((await get()).body).toMatchObject({ corrections: [{ basis: { device: OTHER } }] });
});

test('a token of device groups undoes nothing while the device of the correction is unknown', async () => {
  const error = new TransientError('Busy', 'the disk is full');
  let done = 0;
  const { post, issue } = await openRoutes({
    list: async () => ({ kind: 'failed', error }),
    correct: async () => {
      done++;
      return { kind: 'failed', error };
    },
  });
  const mine = await issue({ permissions: ['data:correct'], deviceGroups: ['mine'] });
  const undo = { kind: 'undo', correction: 1, reason: 'x' };
  expect(await post(undo, { token: mine })).toMatchObject({ status: 503 });
  expect(done).toBe(0);
});

test('a token of device groups does not undo a correction of others, although it has an older one', async () => {
  let done = 0;
  const { post, issue } = await openRoutes({
    // The newest correction of its devices.
    list: async () => ({ kind: 'answer', answer: [{ id: 1 } as ListedCorrection] }),
    correct: async () => {
      done++;
      return { kind: 'not-running' };
    },
  });
  const token = await issue({ permissions: ['data:correct'], deviceGroups: ['mine'] });
  const undo = (correction: number) => post({ kind: 'undo', correction, reason: 'x' }, { token });
  expect(await undo(2)).toMatchObject({
    status: 400,
    body: { parameter: 'correction', message: 'correction: there is no correction 2' },
  });
  expect(done).toBe(0);
  await undo(1);
  expect(done).toBe(1);
});

test('without a worker, with a body that is too large or no JSON, and with other methods, the answer is a specific error', async () => {
  const { post, get } = await openRoutes({
    correct: async () => ({ kind: 'not-running' }),
    list: async () => ({ kind: 'not-running' }),
  });
  expect(await post(day)).toMatchObject({ status: 503, body: { error: 'StorageUnavailable' } });
  expect(await get()).toMatchObject({ status: 503 });
  expect(await post({ ...day, reason: 'x'.repeat(20_000) })).toMatchObject({ status: 413 });
  expect(await post('{')).toMatchObject({ status: 400 });
  expect(await get('?dya=2026-06-02')).toMatchObject({ status: 400, body: { parameter: 'dya' } });
});
