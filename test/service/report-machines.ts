import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { ensureKeys } from '../../src/access/keys.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS, systemClock } from '../../src/lib/time.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { openCommitNews } from '../../src/service/commit-news.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { machine, work } from '../replica/replica-fixture.ts';
import { serveReports, workgroupConfig } from '../report/report-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { startRedis } from '../support/redis.ts';
import { s3ForTests } from '../support/s3-for-tests.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const day = '2026-11-18';
const range = `startDate=${day}&endDate=${day}`;
/** Of the day, and of all days. */
export const reports = [
  `daily-energy?${range}`,
  `daily-energy?${range}&groupBy=source`,
  `daily-energy/details?${range}`,
  `interval-energy?${range}`,
  'device-status',
  'daily-energy/changes?since=2025-01-01',
];

/** A bucket behind a proxy, a Redis, and a report process with a separate data folder. */
export async function startReports() {
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
export async function startOwner({ s3, server }: Awaited<ReturnType<typeof startReports>>) {
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
    /** Commits a day to the bucket. */
    async commitDay(energyWh: number) {
      await storeDays(shard, [{ day, device: 1, energyWh }]);
      await publishAndRenew(shard, { lakeDir: on.lakeDir, clock: systemClock, logger: silentLogger });
      const generation = await snapshot();
      const { sequence } = await owner.mirror(generation);
      news.publish(WORKGROUP, sequence);
    },
    async report(path: string) {
      const answer = await fetch(`${base}/api/v1/orgs/${WORKGROUP}/${path}`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      return { status: answer.status, text: await answer.text() };
    },
  };
}
