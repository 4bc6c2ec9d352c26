import { expect, onTestFinished, test } from 'vitest';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { offsetOf } from '../../src/contract/offset.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { type LakeReader, openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { AFTER_MS_MAX, requireCaller, waitForOffset } from '../../src/report/lake/wait-for-offset.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import { GARAGE, homeWorkgroup, openService, readings } from '../operate/operate-fixture.ts';
import { landMessages, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openReport, serveReports, workgroupConfig } from './report-fixture.ts';

// The next tests wait for an offset without a service.
test.runIf(isSoak)('a report with the offset of a message has its energy', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  const send = async (wh: number, time: string) => {
    const response = await fetch(`${at.service.url}/api/v1/tables/home/solar/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${at.service.token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify(readings(GARAGE, [time, wh])),
    });
    return ((await response.json()) as { lastOffset: string }).lastOffset;
  };
  await send(1_000, '2026-05-01T22:00:00Z');
  // Each answer has what was sent just before it.
  for (const [wh, time] of [
    [1_300, '2026-05-02T08:00:00Z'],
    [1_700, '2026-05-02T12:00:00Z'],
    [2_500, '2026-05-02T22:00:00Z'],
  ] as const) {
    const after = await send(wh, time);
    const { status, body } = await at.get(
      `daily-energy?startDate=2026-05-02&endDate=2026-05-02&after=${after}`,
    );
    expect([status, body]).toEqual([200, { '2026-05-02': { [GARAGE]: wh - 1_000 } }]);
  }
});

/** A report of a workgroup with energy, and the roll-up of its messages. */
async function openWithRollUp() {
  const workgroup = workgroupConfig({
    energyStreams: homeWorkgroup.energyStreams.map((stream) => energyStreamSchema.parse(stream)),
  });
  const at = await openReport(workgroup);
  const rolledUp = () =>
    rollUp(at.shard, { workgroup, clock: at.clock, closeAfterMs: 3 * DAY_MS, logger: silentLogger });
  return { ...at, rolledUp };
}

test('messages without energy are in the published data when they are rolled up', {
  tags: ['slow'],
}, async () => {
  const at = await openWithRollUp();
  // No number, and a number that is no energy.
  for (const [index, data] of [{ state: 'run' }, { volts: 230 }].entries()) {
    const storeTimeMs = TEST_START_MS + index * MINUTE_MS;
    await landMessages(at.shard, { count: 1, storeTimeMs, data: () => data });
    // The publication comes before the roll-up.
    expect(await at.publish()).toMatchObject({ kind: 'published' });
    const after = offsetOf(storeTimeMs);
    const wait = (withinMs: number) =>
      waitForOffset(at.lake, WORKGROUP, after, { withinMs, require: () => {} });
    await expect(wait(1)).rejects.toThrow('its energy is not computed');
    await at.rolledUp();
    expect(await at.publish()).toMatchObject({ kind: 'published', files: 0 });
    await wait(20_000);
    // Nothing new, no new generation.
    await at.rolledUp();
    expect(await at.publish()).toMatchObject({ kind: 'unchanged' });
  }
});

test('a message is waited for until its own batch is rolled up, and not those that landed later', {
  tags: ['slow'],
}, async () => {
  const at = await openWithRollUp();
  await landMessages(at.shard, { count: 1, storeTimeMs: TEST_START_MS });
  await at.publish();
  const looked = Promise.withResolvers<void>();
  const wait = waitForOffset(at.lake, WORKGROUP, offsetOf(TEST_START_MS), {
    withinMs: 20_000,
    require: () => looked.resolve(),
  });
  // It has seen the batch of its message in a generation.
  await looked.promise;
  await at.rolledUp();
  await landMessages(at.shard, { count: 1, storeTimeMs: TEST_START_MS + MINUTE_MS });
  await at.publish();
  await wait;
});

test('an offset that is not published in time is 503 with what to do', { tags: ['slow'] }, async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 5 }]);
  await at.publish();
  const late = waitForOffset(at.lake, WORKGROUP, 5n, { withinMs: 300, require: () => {} });
  await expect(late).rejects.toMatchObject({
    code: 'StorageUnavailable',
    message:
      'after: the message at offset 5 is not in the published data after 0.3 s; ask again, or see the status of the workgroup (GET status)',
    retryAfterSeconds: 5,
  });
  // Nobody waits for the answer of a closed connection.
  await expect(
    waitForOffset(at.lake, WORKGROUP, 5n, {
      withinMs: 20_000,
      require: () => requireCaller({ destroyed: true }),
    }),
  ).rejects.toThrow('the caller has gone');
});

test('a token that is revoked while it waits is refused at once', { tags: ['slow'] }, async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 5 }]);
  await at.publish();
  const { token, tokenId } = await at.access.issue({
    subject: 'waits',
    scopes: { [WORKGROUP]: { permissions: ['search:read'] } },
    lifetimeMs: HOUR_MS,
  });
  // It waits once it has looked for the offset.
  const looked = Promise.withResolvers<void>();
  const newestGeneration: LakeReader['newestGeneration'] = (id) => {
    looked.resolve();
    return at.lake.newestGeneration(id);
  };
  const { base } = await serveReports({ ...at, lake: { ...at.lake, newestGeneration } });
  const answer = fetch(
    `${base}/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=2026-11-18&endDate=2026-11-18&after=5`,
    { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(AFTER_MS_MAX - 5_000) },
  );
  await looked.promise;
  at.access.revoke(tokenId);
  expect((await answer).status).toBe(401);
});

test('every report refuses what is no offset', { tags: ['slow'] }, async () => {
  const at = await openReport({ devices: [{ id: deviceId(1), name: 'one' }] });
  const { paths } = (await (await at.get('/openapi.json')).json()) as {
    paths: Record<string, { get: { parameters: Array<{ name: string }> } }>;
  };
  const orgs = '/api/v1/orgs/{workgroupId}';
  const reports = Object.keys(paths).filter(
    (path) => path !== `${orgs}/workgroup` && path !== `${orgs}/daily-energy/explain`,
  );
  expect(reports.length).toBeGreaterThan(10);
  for (const report of reports) {
    const names = paths[report]!.get.parameters.map(({ name }) => name);
    const range = names.includes('since') ? 'since=2026-11-18' : 'startDate=2026-11-18&endDate=2026-11-18';
    const query = report === `${orgs}/device-status` ? '' : `${range}&`;
    const address = report.replace('{workgroupId}', WORKGROUP).replace('{site}', 'roof');
    for (const after of report === reports[0] ? ['x', '-1', '1.5', '18446744073709551616'] : ['x']) {
      const response = await at.get(`${address}?${query}after=${after}`);
      const { message } = (await response.json()) as { message: string };
      expect([report, after, response.status, message]).toEqual([
        report,
        after,
        400,
        'after: must be an offset, such as the lastOffset of the answer to a sender',
      ]);
    }
  }
});

test('a workgroup with waiting requests leaves places for requests of others', {
  timeout: 60_000,
}, async () => {
  const lake = await openLakeReader({ lakeDir: tempDir() });
  onTestFinished(() => lake.close());
  const socket = { destroyed: false };
  const wait = (workgroupId: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        waitForOffset(lake, workgroupId, 5n, { require: () => requireCaller(socket) }).catch(
          (error: Error) => error.message,
        ),
      ),
    );
  const greedy = wait('greedy', 600);
  const calm = wait('calm', 100);
  socket.destroyed = true;
  const count = (messages: unknown[]) => messages.filter((one) => one === 'the caller has gone').length;
  expect([count(await greedy), count(await calm)]).toEqual([250, 100]);
});
