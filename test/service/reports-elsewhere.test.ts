import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { ensureKeys } from '../../src/access/keys.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS, systemClock } from '../../src/lib/time.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { openLakeReader } from '../../src/report/lake-reader.ts';
import { openCommitNews } from '../../src/service/commit-news.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { storeDays, WORKGROUP } from '../publish/support.ts';
import { machine, work } from '../replica/support.ts';
import { serveReports, workgroupConfig } from '../report/support.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { startRedis } from '../support/redis.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

/** Half of the time after which it looks without news. Other work of this machine can delay everything. */
const WITHIN_MS = 15 * SECOND_MS;
const day = '2026-11-18';
const range = `startDate=${day}&endDate=${day}`;
const reports = [
  `daily-energy?${range}`,
  `daily-energy?${range}&groupBy=source`,
  `daily-energy/details?${range}`,
  `interval-energy?${range}`,
  'device-status',
  'daily-energy/changes?since=2025-01-01',
];

/** A bucket behind a proxy, a Redis, and a report process with a data folder of its own. */
async function startReports() {
  const s3 = await s3ForTests();
  const server = await startRedis();
  onTestFinished(() => server.stop());
  let fateOf: (path: string) => Fate = () => 'pass';
  const requests: string[] = [];
  const endpoint = await startLossyProxy(s3.endpoint, ({ path }) => {
    requests.push(path);
    return fateOf(path);
  });
  const jwksFile = join(tempDir(), 'keys.json');
  await ensureKeys(jwksFile);
  const input: ConfigInput = {
    access: { jwksFile },
    queue: { backend: 'redis', redisUrl: server.url },
    storage: { s3: { ...s3, endpoint } },
    workgroups: [{ id: WORKGROUP }],
  };
  const service = await createServiceProcess(input, 'report');
  const get = (path: string) =>
    fetch(service.url + path, { headers: { Authorization: `Bearer ${service.token}` } });
  return {
    s3,
    server,
    service,
    /** The requests to the bucket since the last call. */
    requests: () => requests.splice(0),
    decide(decide: typeof fateOf) {
      fateOf = decide;
    },
    async report(path: string) {
      const answer = await get(`/api/v1/orgs/${WORKGROUP}/${path}`);
      return { status: answer.status, text: await answer.text() };
    },
    async ready() {
      const answer = await get('/ready');
      return { ok: answer.ok, body: (await answer.json()) as { checks: Record<string, unknown> } };
    },
  };
}

/** The owner on another machine. */
async function startOwner({ s3, server }: Awaited<ReturnType<typeof startReports>>) {
  const on = machine();
  const store = createS3Store({ ...s3, prefix: `${s3.prefix}${WORKGROUP}/` });
  const { shard, snapshot, owner } = await work(on, store);
  const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
  onTestFinished(() => redis.close());
  const news = await openCommitNews({ redis, logger: silentLogger });
  const dataDir = tempDir();
  const access = await createAccess({ dataDir, issuer: 'wattline', clock: systemClock });
  const lake = await openLakeReader({ lakeDir: on.lakeDir });
  onTestFinished(() => lake.close());
  const clock = createTestClock(Date.now());
  const { base } = await serveReports({ lake, access, workgroup: workgroupConfig(), dataDir, clock });
  const scopes = { [WORKGROUP]: { permissions: ['search:read' as const] } };
  const { token } = await access.issue({ subject: 'test', scopes, lifetimeMs: 600 * SECOND_MS });
  return {
    /** Commits a day to the bucket. @returns the commit and when it was created (monotonic, ms) */
    async commitDay(energyWh: number) {
      await storeDays(shard, [{ day, device: 1, energyWh }]);
      await publishAndRenew(shard, { lakeDir: on.lakeDir, clock: systemClock, logger: silentLogger });
      const generation = await snapshot();
      const { sequence } = await owner.mirror(generation);
      const atMs = performance.now();
      news.publish(WORKGROUP, sequence);
      return { sequence, atMs };
    },
    async report(path: string) {
      const answer = await fetch(`${base}/api/v1/orgs/${WORKGROUP}/${path}`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      return { status: answer.status, text: await answer.text() };
    },
  };
}

describe.skipIf(s3Missing)('a report process with a data folder of its own', () => {
  test('answers as the owner does, by news of a bucket commit, and still after a restart and without Redis', async () => {
    const at = await startReports();
    await at.service.start();
    // The bucket can be read, and no worker has ever opened the workgroup.
    expect(await at.ready()).toMatchObject({ body: { checks: { bucket: { ok: true } } } });
    expect(await at.report(reports[0]!)).toMatchObject({
      status: 503,
      text: expect.stringContaining('no worker has stored data of this workgroup yet'),
    });
    const owner = await startOwner(at);
    const delaysMs: number[] = [];
    for (const energyWh of [1, 2, 3]) {
      const { atMs } = await owner.commitDay(energyWh);
      const hasDay = async () => (await at.report(reports[0]!)).text.includes(`:${energyWh}}`);
      await until('the answer has the new day', hasDay);
      delaysMs.push(performance.now() - atMs);
    }
    expect(delaysMs.toSorted((a, b) => a - b)[1]).toBeLessThan(WITHIN_MS);
    for (const path of reports)
      expect([path, await at.report(path)]).toEqual([path, await owner.report(path)]);
    const { dataDir } = at.service.config;
    expect(['warehouse', 'lake'].filter((name) => existsSync(join(dataDir, name)))).toEqual([]);

    // After a restart it fetches no file again, and without Redis it still answers.
    await at.service.stop();
    await at.service.start();
    at.requests();
    expect((await at.report(reports[0]!)).text).toContain(':3}');
    expect(at.requests().filter((path) => path.includes('/files/'))).toEqual([]);
    await at.server.restart({
      whileDown: async () => expect((await at.report(reports[0]!)).text).toContain(':3}'),
    });
  });

  test('a bucket that cannot be read makes it unready, and an answer that needs it a 503', async () => {
    const at = await startReports();
    const owner = await startOwner(at);
    await owner.commitDay(7);
    // A machine that has never read the bucket does not start without it.
    await at.service.start();
    await at.service.stop();
    at.decide(() => 'lose');
    await at.service.start();
    expect(await at.ready()).toMatchObject({
      ok: false,
      body: {
        checks: { bucket: { ok: false, detail: { problem: expect.stringContaining('does not answer') } } },
      },
    });
    for (const path of reports) expect([path, (await at.report(path)).status]).toEqual([path, 503]);
    at.decide(() => 'pass');
    await until('it is ready', async () => {
      const { bucket } = (await at.ready()).body.checks;
      return (bucket as { ok: boolean }).ok;
    });
    expect(await at.report(reports[0]!)).toEqual(await owner.report(reports[0]!));
  });
});
