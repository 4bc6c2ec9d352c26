import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { addDays, DAY_MS, MINUTE_MS, systemClock } from '../../src/lib/time.ts';
import { readCommit, readCurrent } from '../../src/publish/lake-commit.ts';
import { commitPath } from '../../src/publish/lake-layout.ts';
import { findGeneration } from '../../src/report/lake/find-generation.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { createLakeReadiness } from '../../src/report/lake/lake-readiness.ts';
import { openQueryPool } from '../../src/report/lake/query-pool.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { rows, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { openReport } from './report-fixture.ts';

test('reports that are asked for while generations come see each of them whole', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  const days = Array.from({ length: 8 }, (_, index) => addDays('2026-10-28', index));
  // Every generation gives all days one value, in two months' files.
  const writeRound = async (round: number) => {
    await storeDays(
      at.shard,
      days.map((day) => ({ day, device: 1, energyWh: round })),
    );
    await at.publish();
  };
  await writeRound(1);
  let isDone = false;
  const seen: number[] = [];
  const reader = async () => {
    while (!isDone) {
      const report = await at.report('startDate=2026-10-28&endDate=2026-11-04');
      const values = new Set(Object.values(report).map((series) => Object.values(series).join()));
      expect(values.size).toBe(1);
      seen.push(Number([...values][0]));
    }
  };
  const readers = [reader(), reader()];
  for (let round = 2; round <= rounds(5, 12); round++) await writeRound(round);
  isDone = true;
  await Promise.all(readers);
  expect(new Set(seen).size).toBeGreaterThan(2);
});

test('a lake that cannot be read is a 503, and not ready', { tags: ['slow'] }, async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 1 }]);
  const ready = () => createLakeReadiness(at.lake)([WORKGROUP, 'other'], at.clock.now() + 5_000);
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
  const named = await createLakeReadiness(at.lake)([WORKGROUP], at.clock.now(), { maySeeNames: true });
  expect(named.detail?.problems).toEqual([
    expect.stringMatching(`^the lake of workgroup ${WORKGROUP} cannot be read: .+`),
  ]);
});

test('reports show a generation as soon as its commit exists, also long after the last one', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  const energyOf = async () => (await at.report('startDate=2026-11-18&endDate=2026-11-18'))['2026-11-18'];
  const publishNow = async (energyWh: number) => {
    await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh }]);
    // `current` is not renewed, because that is not due.
    await publishAndRenew(at.shard, { ...at, currentEveryMs: DAY_MS, logger: silentLogger });
  };
  for (const energyWh of [1, 2, 3]) {
    await publishNow(energyWh);
    expect(Object.values((await energyOf())!)).toEqual([energyWh]);
  }
  expect(await readCurrent(at.paths)).toBe(1);

  // Retention keeps generation 3 for its quarter of an hour, and deletes the ones after it.
  for (const energyWh of [4, 5, 6]) await publishNow(energyWh);
  for (const sequence of [4, 5]) rmSync(commitPath(at.paths, sequence));
  const other = await openLakeReader({ lakeDir: at.lakeDir });
  onTestFinished(() => other.close());
  expect((await other.newestGeneration(WORKGROUP))!.commit.sequence).toBe(6);
});

test('after a minute the folder is listed, because the next commit can be deleted already', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  for (const energyWh of [1, 2, 3]) {
    await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh }]);
    await at.publish();
  }
  const first = (await readCommit(at.paths, 1))!;
  rmSync(commitPath(at.paths, 2));
  const seenBefore = async (ms: number) =>
    (await findGeneration(at.paths, { commit: first, seenAtMs: performance.now() - ms }))?.sequence;
  expect(await seenBefore(MINUTE_MS)).toBe(3);
  // Within a minute the next one cannot be missing if there are later ones.
  expect(await seenBefore(0)).toBe(1);
});

test('a commit that cannot be read is read again when it can', { tags: ['slow'] }, async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 1 }]);
  await at.publish();
  expect((await at.lake.newestGeneration(WORKGROUP))!.commit.sequence).toBe(1);
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 2 }]);
  await at.publish();
  const text = readFileSync(commitPath(at.paths, 2), 'utf8');
  writeFileSync(commitPath(at.paths, 2), text.replaceAll(/"name":"[0-9a-f]+-/g, '"name":"../../'));
  await expect(at.lake.newestGeneration(WORKGROUP)).rejects.toMatchObject({ code: 'StorageUnavailable' });
  writeFileSync(commitPath(at.paths, 2), text);
  expect((await at.lake.newestGeneration(WORKGROUP))!.commit.sequence).toBe(2);
});

test('a lake that was there and is missing is a 503, and never an empty answer', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  const status = async () => (await at.get(`/api/v1/orgs/${WORKGROUP}/daily-energy`)).status;
  expect(await status()).toBe(200);
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 1 }]);
  await at.publish();
  await at.renew();
  expect(await status()).toBe(200);
  const restarted = async (options: { hasPublished?: (workgroupId: string) => boolean } = {}) => {
    const reader = await openLakeReader({ lakeDir: at.lakeDir, ...options });
    try {
      return (await reader.newestGeneration(WORKGROUP))?.commit.sequence;
    } finally {
      await reader.close();
    }
  };
  const unavailable = { code: 'StorageUnavailable' };
  expect(await restarted()).toBe(1);

  // Without its commits. Another process sees it by what is left.
  renameSync(at.paths.commits, `${at.paths.commits}-away`);
  expect(await status()).toBe(503);
  await expect(restarted()).rejects.toMatchObject(unavailable);
  rmSync(at.paths.analytics, { recursive: true });
  await expect(restarted()).rejects.toMatchObject(unavailable);

  // Without the folder. Another process sees it by the status of the warehouse.
  renameSync(at.paths.root, `${at.paths.root}-away`);
  expect(await status()).toBe(503);
  await expect(restarted({ hasPublished: () => true })).rejects.toMatchObject(unavailable);
  expect(await restarted({ hasPublished: () => false })).toBeUndefined();
  expect(await createLakeReadiness(at.lake)([WORKGROUP, 'other'], at.clock.now())).toMatchObject({
    ok: false,
    detail: { unreadable: 1 },
  });

  renameSync(`${at.paths.root}-away`, at.paths.root);
  renameSync(`${at.paths.commits}-away`, at.paths.commits);
  expect(await status()).toBe(200);
});

test('files of a first publication that has not ended are no lake', async () => {
  const at = await openReport();
  const folder = join(at.paths.files, 'daily_energy/month=2026-11');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '000000000001-0123456789abcdef.parquet'), '');
  expect(await at.lake.newestGeneration(WORKGROUP)).toBeUndefined();
  writeFileSync(join(folder, '000000000002-0123456789abcdef.parquet'), '');
  await expect(at.lake.newestGeneration(WORKGROUP)).rejects.toMatchObject({ code: 'StorageUnavailable' });
});

test('a reader for minutes gets a generation that stays for an hour', { tags: ['slow'] }, async () => {
  const at = await openReport();
  const lasting = await openLakeReader({ lakeDir: at.lakeDir, isForLongReads: true });
  onTestFinished(() => lasting.close());
  expect(await lasting.newestGeneration(WORKGROUP)).toBeUndefined();
  const shown: Array<number | undefined> = [];
  for (const minute of [0, 4, 10]) {
    at.clock.set(TEST_START_MS + minute * MINUTE_MS);
    await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: minute }]);
    await publishAndRenew(at.shard, { ...at, currentEveryMs: 5 * MINUTE_MS, logger: silentLogger });
    shown.push((await lasting.newestGeneration(WORKGROUP))?.commit.sequence);
  }
  expect(shown).toEqual([1, 1, 3]);
});

test('a file that is missing is a 503', { tags: ['slow'] }, async () => {
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
    await expect(lake.run(undefined, (connection) => connection.run(sql))).rejects.toThrow(
      'the published data cannot be read now',
    );
});

test.each([
  ['SELECT FROM', 'Parser Error'],
  ['SELECT missing FROM (SELECT 1 AS one)', 'Binder Error'],
  ['SELECT 1 FROM missing', 'Catalog Error'],
])('a fault of a statement is not shown as a failure of the storage: %s', async (sql, message) => {
  const lake = await openLakeReader({ lakeDir: tempDir() });
  onTestFinished(() => lake.close());
  await expect(lake.run(undefined, (connection) => connection.run(sql))).rejects.toThrow(message);
});

const slowQuery = 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 1';
/**
 * A query that would take minutes. `runs` waits until DuckDB executes it: then the file exists that it
 * writes.
 */
function slowCopy() {
  const folder = tempDir();
  const file = join(folder, 'slow.csv');
  const rowsOfPairs =
    'SELECT a.range FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 8';
  return {
    folder,
    sql: `COPY (${rowsOfPairs}) TO '${file}' (FORMAT csv, USE_TMP_FILE false)`,
    runs: () => until('the query runs', () => existsSync(file)),
  };
}
const pool = async (options: {
  folders?: string[];
  queriesMax?: number;
  waitingMax?: number;
  queryMsMax?: number;
}) => {
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

test('a thread of the allocator gives the memory back that queries have freed', async () => {
  const { run } = await pool({});
  const setting = "SELECT current_setting('allocator_background_threads')";
  expect(await run((connection) => rows(connection, setting))).toEqual([[true]]);
});

test('a query that takes too long is stopped, and its connection serves the next', async () => {
  const { run } = await pool({ queriesMax: 1, queryMsMax: 100 });
  await expect(run((connection) => connection.run(slowQuery))).rejects.toMatchObject({
    code: 'StorageUnavailable',
    retryAfterSeconds: 2,
  });
  expect(await run((connection) => rows(connection, 'SELECT 1'))).toEqual([[1]]);
});

test('a query that nobody waits for any more is stopped', async () => {
  const { folder, sql, runs } = slowCopy();
  const { run } = await pool({ folders: [folder], queryMsMax: 120_000 });
  const gone = new AbortController();
  const query = run((connection) => connection.run(sql), gone.signal);
  query.catch(() => undefined);
  await runs();
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

test('a query of another workgroup runs beside a workgroup that uses all its places', async () => {
  const { run } = await pool({ queriesMax: 1, waitingMax: 2 });
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const work = (name: string) => async () => {
    begun.push(name);
    await gate.promise;
  };
  const held = [run(work('one'), undefined, 'greedy'), run(work('two'), undefined, 'greedy')];
  expect(await run((connection) => rows(connection, 'SELECT 1'), undefined, 'calm')).toEqual([[1]]);
  expect(begun).toEqual(['one']);
  gate.resolve();
  await Promise.all(held);
  expect(begun).toEqual(['one', 'two']);
});

test('the query of a client that disconnects is cancelled', async () => {
  // The server is real, and the report takes long.
  const access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock: systemClock });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 100 });
  onTestFinished(() => app.close());
  const { folder, sql, runs } = slowCopy();
  const { run } = await pool({ folders: [folder], queryMsMax: 120_000 });
  const ended = Promise.withResolvers<string>();
  app.get('/slow', async (_request, reply) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    await run((connection) => connection.run(sql), gone.signal).catch((error: Error) =>
      ended.resolve(error.message),
    );
    return reply.send();
  });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = new AbortController();
  const request = fetch(`${base}/slow`, { signal: client.signal }).catch(() => {});
  await runs();
  client.abort();
  expect(await ended.promise).toMatch(/interrupt/i);
  await request;
});
