import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { addDays, systemClock } from '../../src/lib/time.ts';
import { commitPath } from '../../src/publish/lake-layout.ts';
import { openLakeReader } from '../../src/report/lake-reader.ts';
import { lakeReadiness } from '../../src/report/lake-readiness.ts';
import { openQueryPool } from '../../src/report/query-pool.ts';
import { rows, storeDays, WORKGROUP } from '../publish/support.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openReport } from './support.ts';

test('reports that are asked for while generations come see each of them whole', async () => {
  const at = await openReport();
  const days = Array.from({ length: 40 }, (_, index) => addDays('2026-10-10', index));
  // Every generation gives all days one value, in two months' files.
  const writeRound = async (round: number) => {
    await storeDays(
      at.shard,
      days.map((day) => ({ day, device: 1, energyWh: round })),
    );
    await at.publish();
  };
  await writeRound(1);
  let done = false;
  const seen: number[] = [];
  const reader = async () => {
    while (!done) {
      const report = await at.report('startDate=2026-10-10&endDate=2026-11-18');
      const values = new Set(Object.values(report).map((series) => Object.values(series).join()));
      expect(values.size).toBe(1);
      seen.push(Number([...values][0]));
    }
  };
  const readers = [reader(), reader(), reader()];
  for (let round = 2; round <= 8; round++) await writeRound(round);
  done = true;
  await Promise.all(readers);
  expect(new Set(seen).size).toBeGreaterThan(2);
});

test('a lake that cannot be read is a 503, and not ready', async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 1 }]);
  const ready = () => lakeReadiness(at.lake, [WORKGROUP, 'other'], at.clock.now() + 5_000);
  expect(await ready()).toEqual({
    ok: true,
    detail: {
      workgroups: 2,
      published: 0,
      unreadable: 0,
      newestGenerationAgeSeconds: null,
      oldestGenerationAgeSeconds: null,
    },
  });
  await at.publish();
  writeFileSync(commitPath(at.paths, 1), '{"format":1,');
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/daily-energy`);
  expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
    503,
    'StorageUnavailable',
  ]);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(await ready()).toMatchObject({ ok: false, detail: { published: 0, unreadable: 1 } });
  const named = await lakeReadiness(at.lake, [WORKGROUP], at.clock.now(), { maySeeNames: true });
  expect(named.detail?.problems).toEqual([
    expect.stringMatching(`^the lake of workgroup ${WORKGROUP} cannot be read: .+`),
  ]);

  rmSync(at.paths.current);
  symlinkSync('generations/000000000009', at.paths.current);
  expect((await at.get(`/api/v1/orgs/${WORKGROUP}/daily-energy`)).status).toBe(503);
});

test('a file that is missing is a 503', async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 1 }]);
  await at.publish();
  rmSync(at.paths.files, { recursive: true });
  const query = 'startDate=2026-11-18&endDate=2026-11-18';
  expect((await at.get(`/api/v1/orgs/${WORKGROUP}/daily-energy?${query}`)).status).toBe(503);
});

test('the reader can read the lake and nothing else', async () => {
  const lake = await openLakeReader({ lakeDir: tempDir() });
  onTestFinished(() => lake.close());
  for (const sql of [
    "SELECT * FROM read_text('/etc/passwd')",
    "COPY (SELECT 1) TO '/tmp/wattline.csv'",
    'SET threads = 1',
  ])
    await expect(lake.run((connection) => connection.run(sql))).rejects.toThrow();
});

const slowQuery = 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 1';
const pool = async (options: { queriesMax?: number; waitingMax?: number; queryMsMax?: number }) => {
  const opened = await openQueryPool({
    folders: [],
    threads: 1,
    memoryMegabytes: 256,
    queriesMax: 2,
    waitingMax: 1,
    queryMsMax: 10_000,
    ...options,
  });
  onTestFinished(() => opened.close());
  return opened;
};

test('a query that takes too long is stopped, and its connection serves the next', async () => {
  const { run } = await pool({ queriesMax: 1, queryMsMax: 100 });
  await expect(run((connection) => connection.run(slowQuery))).rejects.toMatchObject({
    code: 'StorageUnavailable',
    retryAfterSeconds: 2,
  });
  expect(await run((connection) => rows(connection, 'SELECT 1'))).toEqual([[1]]);
});

test('a query that nobody waits for any more is stopped', async () => {
  const { run } = await pool({});
  const gone = new AbortController();
  const query = run((connection) => connection.run(slowQuery), gone.signal);
  await sleep(50);
  gone.abort();
  await expect(query).rejects.toThrow(/interrupt/i);
});

test('a few queries run at a time, a few wait, and more are refused', async () => {
  const { run } = await pool({ queriesMax: 2, waitingMax: 1 });
  let running = 0;
  let most = 0;
  const gate = Promise.withResolvers<void>();
  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    running -= 1;
  };
  const accepted = [run(work), run(work), run(work)];
  await expect(run(work)).rejects.toMatchObject({ code: 'StorageUnavailable' });
  gate.resolve();
  await Promise.all(accepted);
  expect(most).toBe(2);
  await run(work);
});

test('a client that goes away takes its query along', async () => {
  // The server is real; the report is one that takes long.
  const access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock: systemClock });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 100 });
  onTestFinished(() => app.close());
  const { run } = await pool({});
  const ended = Promise.withResolvers<string>();
  app.get('/slow', async (_request, reply) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    await run((connection) => connection.run(slowQuery), gone.signal).catch((error: Error) =>
      ended.resolve(error.message),
    );
    return reply.send();
  });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = new AbortController();
  const request = fetch(`${base}/slow`, { signal: client.signal }).catch(() => {});
  await sleep(100);
  client.abort();
  expect(await ended.promise).toMatch(/interrupt/i);
  await request;
});
