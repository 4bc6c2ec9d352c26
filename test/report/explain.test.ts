import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { explainDay } from '../../src/explain/explain-day.ts';
import { explainedSchema } from '../../src/explain/explained-schema.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { createControlServer } from '../../src/worker-rpc/control-server.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { runCommand } from '../support/run-command.ts';
import { atEnd, shared } from '../support/shared.ts';
import { until } from '../support/until.ts';
import { openReport, type ReportFixture, workgroupConfig } from './report-fixture.ts';

const DAY = '2026-07-01';
const [own, others] = [deviceId(1), deviceId(2)];
const path = (query: string) => `/api/v1/orgs/acme/daily-energy/explain?${query}`;
const asked = `device=${own}&day=${DAY}`;

/** A report beside the owner of the warehouse, with a day of two devices, and of one a reading before it. */
async function openWithOwner(): Promise<ReportFixture> {
  const at = await openReport({ deviceGroups: { tenants: [own, deviceId(3)] } });
  const few: Array<[hour: number, total: number]> = [
    [-48, 4_000],
    [0, 5_000],
    [12, 5_600],
    [24, 6_200],
  ];
  const hourly = Array.from({ length: 25 }, (_, hour): [number, number] => [hour, 5_000 + hour]);
  const readings = Object.entries({ [own]: few, [others]: hourly }).flatMap(([device, totals]) =>
    totals.map(([hour, total]) => ({
      event_time: new Date(Date.parse(`${DAY}T00:00:00Z`) + hour * 3_600_000).toISOString(),
      device,
      source: 'roof',
      data: { total },
    })),
  );
  await landReadings(at.shard, readings);
  await rollUpSite(at.shard, {
    timezone: 'Etc/UTC',
    streams: [{ table: 't', field: 'total', method: 'total_energy', unit: 'Wh' }],
  });
  await answering(at, async (args) => {
    const connection = await at.shard.connect();
    try {
      return await explainDay(connection, args, {
        workgroup: workgroupConfig(),
        nowMs: Date.UTC(2030, 0, 1),
        closeAfterMs: 2 * DAY_MS,
      });
    } finally {
      connection.closeSync();
    }
  });
  return at;
}

/** Answers over the control channel of the report's data folder, in place of a worker. */
async function answering(
  { dataDir }: ReportFixture,
  explain: (args: { device: string; day: string }) => Promise<unknown>,
) {
  const run = ((_id: string, _operation: string, args: never) => explain(args)) as Pipeline['run'];
  const control = createControlServer({ dataDir, pipeline: { run }, logger: silentLogger });
  atEnd(() => control.end());
  await control.open('acme');
}

/** The explanations that the worker is asked for, in the order of their arrival. */
function watchExplanations(): Array<{ hasEnded: boolean }> {
  const arrived: Array<{ hasEnded: boolean }> = [];
  const note = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url !== '/acme/explain') return;
    const explanation = { hasEnded: false };
    response.once('close', () => {
      explanation.hasEnded = true;
    });
    arrived.push(explanation);
  };
  subscribe('http.server.request.start', note);
  onTestFinished(() => void unsubscribe('http.server.request.start', note));
  return arrived;
}

const bodyOf = async (response: Response) => (await response.json()) as Record<string, unknown>;

/** Without a worker, and without data. */
const unpublished = shared(() => openReport());

describe('a day is explained over HTTP', () => {
  const owner = shared(openWithOwner);

  test('with everything that it follows from, in the form that is described', {
    tags: ['slow'],
  }, async () => {
    const at = owner();
    const response = await at.get(path(asked));
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(response.headers.get('cache-control')).toBe('private, no-cache');
    const tag = { 'If-None-Match': response.headers.get('etag')! };
    expect((await at.get(path(asked), { headers: tag })).status).toBe(304);
    const explained = explainedSchema.strict().parse(await response.json());
    expect(explained).toMatchObject({ device: own, day: DAY, energyWh: 1_200, outcome: 'explained' });
    expect(explained.sources[0]!.readings.map(({ value }) => value)).toEqual([5_000, 5_600, 6_200]);
    const upperCase = await at.get(
      path(`${asked.toUpperCase().replace('DEVICE', 'device').replace('DAY', 'day')}&source=roof`),
    );
    expect(await bodyOf(upperCase)).toEqual({ ...explained });
  });

  test('and the same by the command, with all parts and of one source on request', {
    tags: ['slow'],
  }, async () => {
    const at = owner();
    const { dataDir: cwd } = at;
    writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify({ dataDir: cwd, workgroups: [{ id: 'acme' }] }));
    const explain = async (...args: string[]) =>
      (await runCommand(['explain', others, DAY, ...args], { cwd })).stdout;
    const query = `device=${others}&day=${DAY}`;
    expect(await explain('--json')).toBe(`${await (await at.get(path(query))).text()}\n`);
    expect(await explain()).toContain(' 21 more readings (--all shows them)\n');
    expect(await explain('--all')).toMatch(/^ +12:00:00 +5,012$/m);
    expect(await explain('--source', 'attic')).toContain('no readings of a source "attic"; it has roof');
  });

  test('to a token of device groups only for their devices; another device is like an unknown device', {
    tags: ['slow'],
  }, async () => {
    const at = owner();
    const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['tenants'] });
    expect((await at.get(path(asked), { token })).status).toBe(200);
    const answers = [];
    for (const [device, by] of [
      [others, token],
      [deviceId(9), token],
      [deviceId(3), token],
      [deviceId(9), at.token],
    ] as const) {
      const response = await at.get(path(`device=${device}&day=${DAY}`), { token: by });
      answers.push([
        response.status,
        (await response.text()).replaceAll(/is it [^?]*/g, '').replace(device, 'ID'),
      ]);
    }
    const [first] = answers;
    expect(first).toEqual([404, expect.stringContaining('"error":"NotFound"')]);
    expect(answers.slice(0, 3)).toEqual([first, first, first]);
    expect(answers[3]).toEqual([404, expect.stringContaining('does not exist or has no energy')]);
  });

  test('only to callers who may read the energy of the workgroup', async () => {
    const at = owner();
    expect((await at.get(path(asked), { token: undefined })).status).toBe(401);
    expect((await at.get(path(asked), { token: 'x' })).status).toBe(401);
    const writer = await at.issue({ permissions: ['data:write'] });
    expect((await at.get(path(asked), { token: writer })).status).toBe(403);
    // A caller without permission gets 403, even if the parameters are invalid.
    expect((await at.get(path('day=x'), { token: writer })).status).toBe(403);
    expect((await at.get(path(asked).replace('acme', 'globex'))).status).toBe(403);
  });

  test.each([
    ['device', `day=${DAY}`],
    ['device', `device=garage&day=${DAY}`],
    ['device', `device=${own}&device=${own}&day=${DAY}`],
    ['day', `device=${own}`],
    ['day', `device=${own}&day=2026-02-30`],
    ['day', `device=${own}&day=today`],
    ['day', `device=${own}&day=0000-01-01`],
    ['source', `${asked}&source=`],
    ['source', `${asked}&source=a&source=b`],
    ['source', `${asked}&source=${'x'.repeat(3_000)}`],
  ])('not where %s is wrong: %#', async (parameter, query) => {
    const at = unpublished();
    const response = await at.get(path(query));
    const body = await bodyOf(response);
    expect(body).toMatchObject({ error: 'InvalidRequest', status: 400, retryable: false, parameter });
    expect([response.status, body.message]).toEqual([400, expect.stringMatching(`^${parameter}: `)]);
  });

  test('not for a day without data, and the error names the nearest days with data', {
    tags: ['slow'],
  }, async () => {
    const at = owner();
    const ask = async (query: string) => {
      const response = await at.get(path(query));
      return [response.status, await bodyOf(response)];
    };
    const nothing = (parameter: string, message: string, more = {}) => [
      404,
      { error: 'NotFound', status: 404, retryable: false, parameter, message, ...more },
    ];
    const nearestDays = { before: DAY, after: null };
    expect(await ask(`device=${own}&day=2026-07-03`)).toEqual(
      nothing(
        'day',
        `day: 2026-07-03 has no readings and no energy; the last day with energy before it is ${DAY}`,
        { nearestDays },
      ),
    );
    expect(await ask(`device=${own}&day=2031-01-01`)).toEqual(
      nothing(
        'day',
        `day: 2031-01-01 has not begun in Etc/UTC; the last day with energy before it is ${DAY}`,
        { nearestDays },
      ),
    );
    expect(await ask(`${asked}&source=cellar`)).toEqual(
      nothing('source', 'source: the device has no readings of a source "cellar"; it has roof'),
    );
  });

  test('not by another method', async () => {
    const at = unpublished();
    const response = await fetch(at.base + path(asked), { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('an explanation that cannot be given now has a Retry-After', () => {
  const refused = async (at: ReportFixture) => {
    const response = await at.get(path(asked));
    const { error, message, retryable } = await bodyOf(response);
    const after = Number(response.headers.get('retry-after'));
    return { status: response.status, error, message, retryable, isToWait: after > 0 };
  };
  const unavailable = { status: 503, error: 'StorageUnavailable', retryable: true, isToWait: true };

  test('if no worker of this machine has the warehouse open', async () => {
    const message = expect.stringMatching(
      /^no worker on this machine has the data of acme open, so nothing was done; if a worker runs here, it tries again/,
    );
    expect(await refused(unpublished())).toEqual({ ...unavailable, message });
  });

  test.each([
    [new TransientError('TooLong', 'stopped'), /took too long/],
    [new TransientError('DiskFull', '/var/secret is full'), /^the worker cannot read its data just now/],
    [new TerminalError('UnknownOperation', 'other version'), /^the worker cannot read its data just now/],
  ])('where the worker cannot: %s', async (error, message) => {
    const at = await openReport();
    await answering(at, () => Promise.reject(error));
    expect(await refused(at)).toEqual({ ...unavailable, message: expect.stringMatching(message) });
  });

  test('if others are waiting, because days are explained one at a time', async () => {
    const at = await openReport();
    const explaining = Promise.withResolvers<void>();
    let [running, most] = [0, 0];
    await answering(at, async () => {
      running += 1;
      most = Math.max(most, running);
      await explaining.promise;
      running -= 1;
      throw new TransientError('TooLong', 'stopped');
    });
    let busy = 0;
    const asking = Array.from({ length: 6 }, async () => {
      const answer = await refused(at);
      if (/^other days are being explained/.test(String(answer.message))) busy += 1;
      return answer;
    });
    await until('all but three have been refused', () => busy === 3);
    explaining.resolve();
    for (const answer of await Promise.all(asking)) expect(answer).toMatchObject(unavailable);
    expect(busy).toBe(3);
    expect(most).toBe(1);
  });

  test('if the client has closed its request, nothing is computed', async () => {
    const at = await openReport();
    const explaining = Promise.withResolvers<void>();
    const atWorker = watchExplanations();
    const begun: string[] = [];
    await answering(at, async ({ day }) => {
      begun.push(day);
      await explaining.promise;
      throw new TransientError('TooLong', 'stopped');
    });
    const first = refused(at);
    await until('the first is being explained', () => begun.length === 1);
    const second = request(at.base + path(`device=${own}&day=2026-07-02`), {
      headers: { Authorization: `Bearer ${at.token}` },
      agent: false,
    });
    second.on('error', () => undefined).end();
    await until('the worker has the second', () => atWorker.length === 2);
    second.destroy();
    await until('the second has ended', () => atWorker[1]!.hasEnded);
    const third = at.get(path(`device=${own}&day=2026-07-03`)).then(bodyOf);
    await until('the worker has the third', () => atWorker.length === 3);
    explaining.resolve();
    await Promise.all([first, third]);
    expect(begun).toEqual([DAY, '2026-07-03']);
  });

  test('a fault of ours is one, with nothing of its text', async () => {
    const at = await openReport();
    await answering(at, () => Promise.reject(new Error('secret')));
    const { status, message } = await refused(at);
    expect([status, message]).toEqual([500, expect.not.stringContaining('secret')]);
  });
});
