// @module-tag slow
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import type { ConfigInput } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import type { Role } from '../../src/service/hold-roles.ts';
import { startRoles } from '../../src/service/start-roles.ts';
import { createFakeTime, fakeTimeLibrary } from '../support/fake-time.ts';
import { freePort } from '../support/free-port.ts';
import { loadConfig } from '../support/load-config.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { syncFileCalls } from '../support/sync-file-calls.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { putEmptyWarehouse } from '../warehouse/empty-warehouse.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const quick = { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms', maintainEvery: '1h' };
const streams = [{ table: 'solar', field: 'total', method: 'total_energy' as const }];

/** The roles in this process, on a clock that a test puts forward: minutes need not be waited for. */
async function serve(roles: readonly Role[], input: ConfigInput, cwd = tempDir()) {
  const port = await freePort();
  const http = { port, streamPort: port, reportPort: port };
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    stringify({
      logLevel: 'silent',
      pipeline: quick,
      limits: { requestsPerMinute: 1_000_000 },
      ...input,
      http,
    }),
  );
  const config = loadConfig({ cwd, environment: {} });
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
  const start = async () => {
    const running = await startRoles(config, roles, { logger: silentLogger, clock });
    onTestFinished(running.stop);
    return running;
  };
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    const body = (await answer.json()) as {
      ok: boolean;
      checks: { worker: { ok: boolean; detail: { problems?: string[]; note?: string; open: number } } };
    };
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      body,
      text: JSON.stringify(body),
    };
  };
  const isReady = async () => (await ask('/ready')).status === 200;
  return { cwd, config, clock, start, ask, isReady };
}

test('a service is ready once it can serve all that it serves: before, uploads would be refused', async () => {
  const { start, ask, isReady, config } = await serve(['stream', 'worker', 'report'], {
    workgroups: [{ id: 'home', energyStreams: streams }],
  });
  // A workgroup without any message would not be opened.
  await putEmptyWarehouse(warehouseFile(config.dataDir, 'home'));
  const starting = start();
  const seen: Array<{ ready: number; served: number }> = [];
  let token: string | undefined;
  void starting.then(async ({ access }) => {
    const scopes = { home: { permissions: ['search:read' as const] } };
    ({ token } = await access.issue({ subject: 'test', scopes, lifetimeMs: MINUTE_MS }, { unlisted: true }));
  });
  let first: Awaited<ReturnType<typeof ask>> | undefined;
  // Asks without a pause, because the service is not ready for some milliseconds only.
  while (first === undefined) first = await ask('/ready').catch(() => undefined);
  expect(first).toMatchObject({ status: 503, retryAfter: '5' });
  expect(first.body.checks.worker.detail.problems).toEqual([
    expect.stringMatching(/^workgroup home: no worker has opened its data, .* try again/),
  ]);
  expect((await ask('/health')).status).toBe(200);
  await until('it is ready', async () => {
    const ready = await ask('/ready');
    if (token === undefined) return false;
    const url = `http://127.0.0.1:${config.http.port}/api/v1/orgs/home/daily-energy/explain?device=${DEVICE}&day=2026-01-01`;
    const explained = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    seen.push({ ready: ready.status, served: explained.status });
    return ready.status === 200;
  });
  expect(seen.filter(({ ready, served }) => ready === 200 && served === 503)).toEqual([]);
  expect(await isReady()).toBe(true);
});

test('with many workgroups the health is answered without waiting for the file system', async () => {
  const workgroups = Array.from({ length: 300 }, (_, number) => ({ id: `home-${number}` }));
  const { start, ask, isReady } = await serve(['stream', 'worker', 'report'], { workgroups });
  await start();
  await until('it is ready', isReady);
  const requests = 50;
  const callsDuring = (path: string) =>
    syncFileCalls(async () => {
      for (let number = 0; number < requests; number++) expect((await ask(path)).status).toBe(200);
    });
  for (const path of ['/health', '/ready']) {
    const calls = await callsDuring(path);
    // Once a second the service looks for audit entries of each workgroup.
    expect(calls.filter((call) => call !== 'fs.sync.access')).toEqual([]);
    expect(calls.length).toBeLessThan((requests * workgroups.length) / 2);
  }
});

test('a stage that fails for minutes makes a service unready, with workgroup, stage and advice, until it succeeds', async () => {
  const { start, ask, isReady, clock, config, cwd } = await serve(['stream', 'worker', 'report'], {
    workgroups: [
      { id: 'home', energyStreams: streams },
      { id: 'other', energyStreams: streams },
    ],
  });
  const blocked = join(config.dataDir, 'lake', 'home', 'files');
  mkdirSync(join(blocked, '..'), { recursive: true });
  writeFileSync(blocked, '');
  const { access, url } = await start();
  await until('it is ready', isReady);
  const { token } = await access.issue(
    { subject: 'test', scopes: { home: { permissions: ['data:write'] } }, lifetimeMs: MINUTE_MS * 60 },
    { unlisted: true },
  );
  const sent = await fetch(`${url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify([{ device: DEVICE, event_time: Date.now() - MINUTE_MS, data: { total: 1 } }]),
  });
  expect(sent.status).toBe(200);
  const statusOf = async () =>
    JSON.parse((await runCommand(['status', '--json', '-w', 'home'], { cwd })).stdout) as Array<{
      publish: { lastError?: { message: string } };
    }>;
  await until('publishing fails', async () => (await statusOf())[0]?.publish.lastError !== undefined);
  // For moments only, so far.
  await until('it is ready all the same', isReady);
  clock.aheadMs += 4 * MINUTE_MS;
  // What was called before the clock went forward is called again within moments.
  await until('it has failed for minutes', async () => {
    const { status, body } = await ask('/ready');
    const { problems = [] } = body.checks.worker.detail;
    return status === 503 && problems.length === 1 && problems[0]!.includes('(publish)');
  });
  const ready = await ask('/ready');
  expect(ready).toMatchObject({ status: 503, retryAfter: '5' });
  const { problems } = ready.body.checks.worker.detail;
  expect(problems).toEqual([
    expect.stringMatching(
      /^workgroup home, publishing \(publish\): it has failed \d+ times since .*: .*lake\/home\/files.* a file is in its place: move the file away$/,
    ),
  ]);
  expect(ready.text).not.toMatch(/ENOTDIR|EEXIST|mkdir/);
  // It lives, and says so all the same.
  const health = await ask('/health');
  expect(health.status).toBe(200);
  expect(health.body.checks.worker.detail.problems).toEqual(problems);
  // Behind a proxy the whole world may ask.
  const forwarded = await ask('/ready', { 'x-forwarded-for': '203.0.113.7' });
  expect(forwarded.status).toBe(503);
  expect(forwarded.text).not.toMatch(/home|lake\/|move the/);
  expect(forwarded.body.checks.worker.detail.note).toContain('wattline status');
  // A command on the clock of the service. On another one its status is from the future, and not believed.
  const time = createFakeTime(cwd);
  const status = (...args: string[]) => {
    time.set(clock.aheadMs / SECOND_MS);
    return runCli(['status', ...args], { cwd, environment: time.environment });
  };
  if (fakeTimeLibrary) {
    let told = await status();
    await until('the status says it', async () => {
      told = await status();
      return told.stderr.startsWith('wattline: workgroup home, publishing');
    });
    expect(told.code).toBe(4);
    expect(told.stdout).toMatch(/^home +failing /m);
    expect(told.stdout).toMatch(
      /^failing: workgroup home, publishing \(publish\): it has failed \d+ times since .* move the file away$/m,
    );
    await until(
      'nothing is said of the other workgroup',
      async () => (await status('-w', 'other')).code === 0,
    );
  }
  rmSync(blocked);
  // The longest wait before it is tried again.
  clock.aheadMs += MINUTE_MS;
  await until('it is ready again', isReady);
  if (fakeTimeLibrary) await until('the status is too', async () => (await status()).code === 0);
});

test('data that cannot be opened make a service unready at once, until they can be', async () => {
  const { start, ask, isReady, clock, config, cwd } = await serve(['stream', 'worker', 'report'], {
    workgroups: [{ id: 'home', energyStreams: streams }],
  });
  const file = join(config.dataDir, 'warehouse', 'home.duckdb');
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, 'no database'.repeat(1_000));
  await start();
  await until('it was tried', async () => (await ask('/ready')).text.includes('cannot be opened'));
  const { status, body } = await ask('/ready');
  expect(status).toBe(503);
  expect(body.checks.worker.detail.problems).toEqual([
    expect.stringMatching(
      /^workgroup home, opening the data: .*home\.duckdb is not a DuckDB file; move it away.* tries again/,
    ),
  ]);
  await until('the status says it', async () => (await runCommand(['status'], { cwd })).code === 4);
  rmSync(file);
  // The longest wait before it is tried again.
  clock.aheadMs += MINUTE_MS;
  await until('it is ready again', isReady);
});

test.runIf(isSoak)(
  'a report process alone is ready while another process has the data open, and on a copy of the data',
  async () => {
    const cwd = tempDir();
    const input: ConfigInput = { workgroups: [{ id: 'home', energyStreams: streams }] };
    const reports = await serve(['report'], input, cwd);
    await reports.start();
    expect(await reports.ask('/ready')).toMatchObject({ status: 503, retryAfter: '5' });
    const { dataDir } = reports.config;
    const worker = await startRoles(reports.config, ['worker'], {
      logger: silentLogger,
      clock: reports.clock,
    });
    onTestFinished(worker.stop);
    await until('the worker has opened the data', reports.isReady);
    await worker.stop();
    await until('nobody has them open', async () => !(await reports.isReady()));
    // A lake without a warehouse was copied here to be read.
    mkdirSync(join(dataDir, 'lake', 'home'), { recursive: true });
    rmSync(join(dataDir, 'warehouse'), { recursive: true });
    expect(existsSync(join(dataDir, 'lake', 'home'))).toBe(true);
    await until('it is a copy', reports.isReady);
  },
);
