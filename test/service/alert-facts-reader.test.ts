import { expect, onTestFinished, test } from 'vitest';
import type { AlertFacts } from '../../src/alerts/alert-facts.ts';
import { readWarehouseFacts } from '../../src/alerts/read-warehouse-facts.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { emptyStatus, type WorkgroupStatus } from '../../src/pipeline/workgroup-status.ts';
import { type AlertSources, createFactsReader } from '../../src/service/alert-facts-reader.ts';
import { storeUpload } from '../../src/upload/store-upload.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { startProcessServer } from '../../src/worker-rpc/process-server.ts';
import { type ExportFixture, openExportFixture } from '../exports/exports-fixture.ts';
import { landMessages, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { budget, budgets } from '../report/meter-support.ts';
import { deviceId } from '../support/messages.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

type Shard = ReturnType<AlertSources['health']>['shards'][number];
const owned: Shard = {
  workgroupId: WORKGROUP,
  state: 'owned',
  error: null,
  failingSinceMs: null,
  stages: [],
};

/** The reader on the real warehouse, lake and exports of a fixture. What a worker says of itself is given. */
function readerOf(
  fixture: ExportFixture,
  exportStates: AlertSources['exportStates'] = fixture.exports.states,
  lakeOf: AlertSources['lakeOf'] = async () => fixture.lake,
) {
  const { shard, clock, config } = fixture;
  const worker = { shards: [owned], status: { ...emptyStatus(WORKGROUP, clock.now()) } as WorkgroupStatus };
  const workgroups = createWorkgroups(config);
  const run = (_id: string, _operation: 'alertFacts', { known }: { known?: string }) =>
    shard.read((connection) =>
      readWarehouseFacts(connection, {
        workgroup: workgroups.get(WORKGROUP)!,
        nowMs: clock.now(),
        closeAfterMs: 2 * DAY_MS,
        known,
      }),
    );
  const read = createFactsReader(
    {
      config,
      workgroups,
      health: () => worker,
      statusOf: () => worker.status,
      pipeline: { run } as unknown as Pick<Pipeline, 'run'>,
      exportStates,
      lakeOf,
      clock,
    },
    WORKGROUP,
  );
  return { read, worker, workgroups };
}

test('silence and lag are known only while everything is read and published', async () => {
  const fixture = await openExportFixture([]);
  const { shard, clock } = fixture;
  const { read, worker } = readerOf(fixture);
  await landMessages(shard, { count: 1, devices: 1, storeTimeMs: TEST_START_MS - 2 * HOUR_MS });
  await shard.transaction((connection) => noteDeviceStatus(connection, clock.now()));
  const nowMs = clock.now();
  const at = async (poll: WorkgroupStatus['poll'], publish: WorkgroupStatus['publish'] = {}) => {
    worker.status = { ...worker.status, poll, publish };
    const { lagMs, mayLagMore, silences } = await read();
    return { lagMs, mayLagMore, silentMs: silences?.map(({ silentMs }) => silentMs) };
  };
  expect(await at({})).toEqual({ lagMs: undefined, mayLagMore: true, silentMs: undefined });
  const failed = { lastError: { atMs: nowMs - 1, message: 'HTTP 503' }, failingSinceMs: nowMs - MINUTE_MS };
  // Nothing was read since the start, so the lag is at least this.
  expect(await at(failed)).toEqual({ lagMs: MINUTE_MS, mayLagMore: true, silentMs: undefined });
  const read1 = { upToDate: true, lagSeconds: 0, lastSuccessAtMs: nowMs - 10 * SECOND_MS };
  expect(await at(read1)).toEqual({ lagMs: 0, mayLagMore: false, silentMs: [2 * HOUR_MS] });
  // The upstream is away: no device is silent.
  expect(await at({ ...read1, ...failed })).toEqual({
    lagMs: 10 * SECOND_MS,
    mayLagMore: false,
    silentMs: undefined,
  });
  expect(await at({ ...read1, upToDate: false, lagSeconds: 90 })).toMatchObject({
    lagMs: 90 * SECOND_MS,
    silentMs: undefined,
  });
  expect((await at(read1, failed)).silentMs).toBeUndefined();
  worker.shards = [{ ...owned, state: 'queued' }];
  expect(await read()).toMatchObject({
    gaps: undefined,
    exports: undefined,
    budgets: undefined,
    lagMs: undefined,
  });
});

test('exports are known once each was looked at, and then say what is outdated and what is not delivered', {
  tags: ['slow'],
}, async () => {
  const fixture = await openExportFixture([
    {},
    { schedule: '* * * * *', destination: { webhook: { url: 'http://127.0.0.1:9/' } } },
  ]);
  const { shard, clock, exports } = fixture;
  const { read } = readerOf(fixture);
  await storeDays(shard, [{ day: '2026-11-19', device: 1, energyWh: 5 }]);
  await fixture.publish();
  const run = (corrected: boolean) => exports.run('export1', { corrected }, new AbortController().signal);
  await run(false);
  expect((await read()).exports).toBeUndefined();
  await fixture.work();
  await clock.advance(MINUTE_MS);
  await fixture.work();
  expect((await read()).exports).toEqual([
    { id: 'export1', outdatedFiles: 0, undelivered: undefined },
    {
      id: 'export2',
      outdatedFiles: 0,
      undelivered: { period: '2026-11-19', dueMs: expect.any(Number), why: expect.any(String) },
    },
  ]);
  await storeDays(shard, [{ day: '2026-11-19', device: 1, energyWh: 7 }]);
  await fixture.publish();
  await clock.advance(HOUR_MS);
  await fixture.work();
  const outdated = async () => (await read()).exports?.map(({ outdatedFiles }) => outdatedFiles);
  expect(await outdated()).toEqual([1, 0]);
  // Another process of the service delivers it again.
  await fixture.restart().run('export1', { corrected: true }, new AbortController().signal);
  await fixture.work();
  expect(await outdated()).toEqual([0, 0]);
  expect((await readerOf(fixture, fixture.restart().states).read()).exports).toBeUndefined();
});

test('a device that gets the role of a battery is idle no more', async () => {
  const fixture = await openExportFixture([]);
  const { read, workgroups } = readerOf(fixture);
  await storeDays(
    fixture.shard,
    [0, 5, 7].map((energyWh, index) => ({ day: '2026-11-19', device: index + 1, energyWh })),
  );
  const idle = async () => (await read()).idleDays?.map(({ device }) => device);
  expect(await idle()).toEqual([deviceId(1)]);
  const roles = [{ device: deviceId(1), role: 'battery_charge' as const }];
  workgroups.replace({ workgroups: [{ ...fixture.config.workgroups[0]!, roles }] });
  expect(await idle()).toEqual([]);
});

test('a budget is compared with the month to yesterday, and read again soon', {
  tags: ['slow'],
}, async () => {
  const fixture = await openExportFixture([], {
    meters: [{ code: 'PV', device: deviceId(1), source: 'inverter' }],
    sites: [{ name: 'roof', meters: [{ code: 'PV' }] }],
  });
  const { shard, clock } = fixture;
  const { read } = readerOf(fixture);
  expect((await read()).budgets).toEqual([]);
  const origin = { name: 'test', actor: 'test', again: false };
  await storeUpload(shard, budgets(budget('PV', '2026-11', 30_000)), origin, clock.now());
  await storeDays(shard, [
    { day: '2026-11-19', device: 1, energyWh: 800 },
    { day: '2026-11-20', device: 1, energyWh: 300 },
  ]);
  await fixture.publish();
  expect((await read()).budgets).toEqual([
    { site: 'roof', month: '2026-11', actualWh: 800, budgetWh: 1_000 },
  ]);
  await storeDays(shard, [{ day: '2026-11-19', device: 1, energyWh: 950 }]);
  await fixture.publish();
  await clock.advance(15 * MINUTE_MS);
  expect((await read()).budgets).toMatchObject([{ actualWh: 950 }]);
  // On the first of December the whole November is compared.
  await clock.advance(11 * DAY_MS);
  expect((await read()).budgets).toEqual([
    { site: 'roof', month: '2026-11', actualWh: 1_250, budgetWh: 2_000 },
  ]);
});

test('budgets rest for a hundred times what their read took, and at most a quarter of an hour', async () => {
  const fixture = await openExportFixture([], {
    meters: [{ code: 'PV', device: deviceId(1), source: 'inverter' }],
    sites: [{ name: 'roof', meters: [{ code: 'PV' }] }],
  });
  const { shard, clock, exports, lake } = fixture;
  const origin = { name: 'test', actor: 'test', again: false };
  await storeUpload(shard, budgets(budget('PV', '2026-11', 30_000)), origin, clock.now());
  let tookMs = 2 * SECOND_MS;
  let reads = 0;
  const { read } = readerOf(fixture, exports.states, async () => {
    reads++;
    clock.leap(tookMs);
    return lake;
  });
  const readsAfter = async (restMs: number) => {
    clock.leap(restMs);
    await read();
    return reads;
  };
  expect([await readsAfter(0), await readsAfter(200 * SECOND_MS - 1)]).toEqual([1, 1]);
  tookMs = MINUTE_MS;
  expect([await readsAfter(1), await readsAfter(15 * MINUTE_MS - 1), await readsAfter(1)]).toEqual([2, 2, 3]);
});

test('the disk of dataDir and the inputs of all processes of the machine are read', async () => {
  const url = 'mqtt://127.0.0.1:1883';
  const fixture = await openExportFixture([], {
    inputs: {
      mqtt: [
        { id: 'house', url, rules: [{ topic: 't', table: 't', device: 'x', fields: { p: 'payload' } }] },
      ],
    },
  });
  const { read } = readerOf(fixture);
  const { disk, inputs } = await read();
  expect(disk!.sizeBytes).toBeGreaterThan(disk!.freeBytes);
  expect(disk!.freeBytes).toBeGreaterThan(0);
  expect(disk!.folder).toBe(fixture.config.dataDir);
  // No process runs the input.
  expect(inputs).toBeUndefined();
  const about = { workgroupId: WORKGROUP, input: 'house', kind: 'mqtt', address: url } as const;
  const meter = createInputCounter({ ...about, connection: 'connecting' }, fixture.clock);
  meter.connection('disconnected', 'ECONNREFUSED');
  await fixture.clock.advance(MINUTE_MS);
  const stop = await startProcessServer({
    dataDir: fixture.config.dataDir,
    roles: ['stream'],
    operations: {
      inputs: async () => [meter.state()],
      reload: async () => ({ added: [], changed: [], removed: [], needRestart: [] }),
      configState: async () => ({ loadedAtMs: 0, needRestart: [] }),
    },
  });
  onTestFinished(stop);
  const house = { input: 'house', address: url, problem: 'ECONNREFUSED', losses: 0 };
  expect((await read()).inputs).toEqual([{ ...house, disconnectedMs: MINUTE_MS }]);
  meter.connection('connected');
  expect((await read()).inputs).toEqual([{ ...house, problem: undefined, disconnectedMs: null }]);
  meter.connection('disconnected', 'ECONNRESET');
  expect((await read()).inputs).toMatchObject([{ disconnectedMs: 0, losses: 1 }]);
});

test('the stages are known as far as the worker has tried them', async () => {
  const fixture = await openExportFixture([]);
  const { read, worker } = readerOf(fixture);
  const nowMs = fixture.clock.now();
  const stage: Shard['stages'][number] = {
    stage: 'poll',
    state: 'ok',
    maxPeriodMs: SECOND_MS,
    openedAtMs: nowMs - HOUR_MS,
    lastTickAtMs: nowMs,
    runningSinceMs: null,
    lastSuccessAtMs: null,
    lastDurationMs: null,
    failures: 0,
    failingSinceMs: null,
    lastError: null,
    retryAtMs: null,
  };
  const of = async (shard: Partial<Shard>): Promise<AlertFacts['stages']> => {
    worker.shards = [{ ...owned, ...shard }];
    return (await read()).stages;
  };
  const lastError = { atMs: nowMs, code: 'Busy', message: 'HTTP 503', retryable: true };
  const fact = { stage: 'poll', failingMs: HOUR_MS - SECOND_MS };
  const open = { isAtWork: false, hasSucceeded: false };
  expect(await of({ stages: [stage] })).toMatchObject([{ ...fact, ...open }]);
  expect(await of({ stages: [{ ...stage, failures: 2, lastError, runningSinceMs: nowMs }] })).toEqual([
    { ...fact, ...open, why: 'HTTP 503' },
  ]);
  // A first run of hours is no failure.
  expect(await of({ stages: [{ ...stage, runningSinceMs: nowMs - HOUR_MS }] })).toMatchObject([
    { isAtWork: true, hasSucceeded: false },
  ]);
  expect(await of({ stages: [{ ...stage, lastSuccessAtMs: nowMs, lastError }] })).toMatchObject([
    { failingMs: -SECOND_MS, isAtWork: false, hasSucceeded: true },
  ]);
  expect(await of({ state: 'waiting' })).toBeUndefined();
  const failing = await of({ state: 'waiting', error: 'no disk', failingSinceMs: nowMs - MINUTE_MS });
  expect(failing![0]).toEqual({
    stage: 'open',
    failingMs: MINUTE_MS,
    why: 'the data cannot be opened: no disk',
    ...open,
  });
  // Whether the others work is not known then.
  expect(failing!.slice(1).every(({ failingMs, hasSucceeded }) => failingMs === 0 && !hasSucceeded)).toBe(
    true,
  );
});
