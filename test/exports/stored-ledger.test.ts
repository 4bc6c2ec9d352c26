import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { createExports } from '../../src/exports/create-exports.ts';
import type { ExportRun } from '../../src/exports/export-ledger.ts';
import { CLAIM_MS, openStoredLedger } from '../../src/exports/stored-ledger.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { nodeOptions, processEnvironment } from '../support/process-environment.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import type { ExportChild } from './export-child.ts';
import { type ExportFixture, openExportFixture } from './exports-fixture.ts';
import { bodyOf } from './s3-server.ts';

const timeout = 240_000;
const day = { day: '2026-11-19', device: 1, energyWh: 12_345 };
const signal = new AbortController().signal;

interface Delivery {
  key: string | undefined;
  body: string;
}

/** A receiver that may end the sender before it answers. */
async function startReceiver() {
  const taken: Delivery[] = [];
  let onRequest: ((request: IncomingMessage) => Promise<'answer' | 'none'>) | undefined;
  const server = createServer(async (request, response) => {
    if ((await onRequest?.(request)) === 'none') return;
    taken.push({ key: String(request.headers['idempotency-key']), body: String(await bodyOf(request)) });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    taken,
    atRequest(action: typeof onRequest) {
      onRequest = action;
    },
  };
}

function startChild(options: ExportChild): { child: ChildProcess; ended: Promise<number | null> } {
  const path = join(import.meta.dirname, 'export-child.ts');
  const child = spawn(process.execPath, [...nodeOptions, path, JSON.stringify(options)], {
    env: processEnvironment({}),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'exit').then(([code]) => code as number | null) };
}

const ledgerOf = (bucket: string, { clock }: ExportFixture, holder: string, id = 'export1') =>
  openStoredLedger({ store: createFolderStore(bucket), exportId: id, outbox: tempDir(), clock, holder });

test.each([
  ['before the delivery', false],
  ['between the delivery and its note', true],
])(
  'a process that is killed %s is continued on another machine with the same file and key',
  { tags: ['slow'], timeout },
  async (_, isTaken) => {
    const receiver = await startReceiver();
    const at = await openExportFixture([{ destination: { webhook: { url: receiver.url } } }]);
    await storeDays(at.shard, [day]);
    await at.publish();
    const bucket = tempDir();
    const first = startChild({
      ...{ lakeDir: at.lakeDir, bucket, url: receiver.url, dataDir: tempDir(), nowMs: at.clock.now() },
    });
    receiver.atRequest(async (request) => {
      if (isTaken)
        receiver.taken.push({
          key: String(request.headers['idempotency-key']),
          body: String(await bodyOf(request)),
        });
      first.child.kill('SIGKILL');
      return 'none';
    });
    expect(await first.ended).toBeNull();
    receiver.atRequest(undefined);
    const before = await ledgerOf(bucket, at, 'test').runs();
    expect(before).toMatchObject([{ period: '2026-11-19', state: 'waiting' }]);
    // The lake changes meanwhile. It is the file that may have been delivered.
    await storeDays(at.shard, [{ ...day, energyWh: 1 }]);
    await at.publish();

    // Another process each time.
    const work = async (passedMs: number) => {
      await at.clock.advance(passedMs);
      await machine(at, bucket, 'second').turn();
    };
    const countBefore = receiver.taken.length;
    await work(MINUTE_MS);
    // The killed process could still work.
    expect(receiver.taken).toHaveLength(countBefore);
    await work(CLAIM_MS);
    expect(receiver.taken).toHaveLength(countBefore + 1);
    expect(new Set(receiver.taken.map(({ key }) => key))).toEqual(new Set(['export1/2026-11-19']));
    expect(new Set(receiver.taken.map(({ body }) => body)).size).toBe(1);
    expect(receiver.taken[0]!.body).toContain(',12345,');
    await work(CLAIM_MS);
    expect(receiver.taken).toHaveLength(countBefore + 1);
    expect(await ledgerOf(bucket, at, 'test').runs()).toMatchObject([
      { state: 'delivered', attempts: 1, file: { sha256: before[0]!.file!.sha256 } },
    ]);
    // The machine and the bucket keep no delivered file.
    expect(readdirSync(join(at.dataDir, 'exports', 'export1-second'))).toEqual([]);
    expect(readdirSync(join(bucket, 'exports/export1/outbox'))).toEqual([]);
  },
);

/** Exports of a machine with an own data folder in this process. */
function machine(at: ExportFixture, bucket: string, holder: string) {
  const dataDir = at.dataDir;
  const exports = createExports({
    config: at.config,
    lake: at.lake,
    audit: createAudit({ dataDir, actor: 'test', clock: at.clock }),
    clock: at.clock,
    logger: silentLogger,
    hold: async () => async () => undefined,
    openLedger: ({ id }) =>
      openStoredLedger({
        store: createFolderStore(bucket),
        exportId: id,
        outbox: join(dataDir, 'exports', `${id}-${holder}`),
        clock: at.clock,
        holder,
      }),
  });
  return { ...exports, turn: () => exports.work(WORKGROUP, signal) };
}

test('two machines that both think they own a workgroup deliver each file once', {
  tags: ['slow'],
  timeout,
}, async () => {
  const receiver = await startReceiver();
  const destination = { webhook: { url: receiver.url } };
  const at = await openExportFixture([
    { schedule: '0 6 * * *', destination },
    { schedule: '0 6 * * *', destination },
  ]);
  await storeDays(at.shard, [day]);
  await at.publish();
  const bucket = tempDir();
  const machines = ['a', 'b'].map((holder) => machine(at, bucket, holder));
  for (let hour = 0; hour < 4 * 24; hour += 6) {
    await Promise.all(machines.map(({ turn }) => turn()));
    // After a collision a later turn continues.
    await at.clock.advance(CLAIM_MS);
    for (const { turn } of machines) await turn();
    await at.clock.advance(6 * HOUR_MS - CLAIM_MS);
  }
  const keys = receiver.taken.map(({ key }) => key!).toSorted();
  const days = ['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23'];
  expect(keys).toEqual(['export1', 'export2'].flatMap((id) => days.map((name) => `${id}/${name}`)));
  expect(await machines[0]!.hasPending(WORKGROUP)).toBe(false);
  // One object for each run, and one for the schedule.
  const objects: string[] = [];
  for await (const { key } of createFolderStore(bucket).list('exports/')) objects.push(key);
  expect(objects).toHaveLength(2 * (days.length + 1));
});

test('a claimed run without a file is continued, and the later changes of delivered days are known everywhere', {
  tags: ['slow'],
  timeout,
}, async () => {
  const at = await openExportFixture([{}]);
  await storeDays(at.shard, [day]);
  await at.publish();
  const bucket = tempDir();
  const [a, b] = [machine(at, bucket, 'a'), machine(at, bucket, 'b')];
  const planned = { ...(await at.exports.run('export1', { corrected: false }, signal)).run };
  const { file: _, delivered: __, ...rest } = planned;
  await ledgerOf(bucket, at, 'killed').claim({ ...rest, state: 'planned', attempts: 0 } as ExportRun);
  await expect(a.run('export1', { corrected: false }, signal)).rejects.toMatchObject({ code: 'ExportBusy' });
  await at.clock.advance(CLAIM_MS);
  // Other killed processes have left files.
  const outbox = join(bucket, 'exports/export1/outbox');
  mkdirSync(outbox, { recursive: true });
  for (const [name, ageMs] of [
    ['old', 25 * HOUR_MS],
    ['new', HOUR_MS],
  ] as const) {
    writeFileSync(join(outbox, name), name);
    utimesSync(join(outbox, name), new Date(), new Date(at.clock.now() - ageMs));
  }
  expect(await a.run('export1', { corrected: false }, signal)).toMatchObject({ kind: 'delivered' });
  expect(readdirSync(outbox)).toEqual(['new']);
  expect(await b.run('export1', { corrected: false }, signal)).toMatchObject({ kind: 'already-delivered' });

  await storeDays(at.shard, [{ ...day, energyWh: 20_000 }]);
  await at.publish();
  await at.clock.advance(HOUR_MS);
  await b.turn();
  const outdated = { days: [{ day: '2026-11-19', beforeWh: 12_345, afterWh: 20_000 }] };
  expect(await ledgerOf(bucket, at, 'test').runs()).toMatchObject([{ state: 'delivered', outdated }]);
  const corrected = await a.run('export1', { corrected: true }, signal);
  expect(corrected.run).toMatchObject({ revision: 2, file: { energyWh: 20_000 } });
});

test('a process that was stopped cannot store a state, even if the numbers after its own are deleted', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([{}]);
  await storeDays(at.shard, [day]);
  await at.publish();
  const { run } = await at.exports.run('export1', { corrected: false }, signal);
  const waiting: ExportRun = { ...run, state: 'waiting' };
  const bucket = tempDir();
  const [a, b] = [ledgerOf(bucket, at, 'a'), ledgerOf(bucket, at, 'b')];
  await a.claim(waiting);
  await at.clock.advance(CLAIM_MS);
  await b.claim(waiting);
  await expect(a.save(waiting)).rejects.toMatchObject({ code: 'ExportTaken' });
  const c = ledgerOf(bucket, at, 'c');
  await c.runs();
  await b.save(waiting, { isWorking: true });
  await b.save({ ...run, attempts: 7 });
  // Number 3 is free again, and number 4 counts.
  await expect(c.save(waiting)).rejects.toMatchObject({ code: 'ExportTaken' });
  for (const ledger of [a, b, c, ledgerOf(bucket, at, 'd')]) {
    ledger.reload();
    expect(await ledger.runs()).toMatchObject([{ state: 'delivered', attempts: 7 }]);
  }
});

const plannedRun: ExportRun = {
  ...{ format: 1, exportId: 'export1', workgroupId: WORKGROUP, report: 'daily_energy', period: '2026-11-19' },
  ...{ startDay: '2026-11-19', endDay: '2026-11-19', revision: 1, reason: 'schedule', state: 'planned' },
  ...{ plannedAt: '2026-11-20T06:00:00.000Z', attempts: 0 },
};

test('what another process stores is seen after five minutes, counted from the begin of the last look', async () => {
  const clock = createTestClock();
  const store = createFolderStore(tempDir());
  let lists = 0;
  const slow: ObjectStore = Object.assign(Object.create(store), {
    async *list(prefix: string) {
      lists += 1;
      yield* store.list(prefix);
      clock.leap(MINUTE_MS);
    },
  });
  const open = (of: ObjectStore, holder: string) =>
    openStoredLedger({ store: of, exportId: 'export1', outbox: tempDir(), clock, holder });
  const [ledger, other] = [open(slow, 'a'), open(store, 'b')];
  expect(await ledger.runs()).toEqual([]);
  await other.save(plannedRun);
  clock.leap(4 * MINUTE_MS - 1);
  expect([await ledger.runs(), lists]).toEqual([[], 1]);
  clock.leap(1);
  expect([await ledger.runs(), lists]).toEqual([[plannedRun], 2]);
  expect([await ledger.pending(), lists]).toEqual([[plannedRun], 2]);
});
