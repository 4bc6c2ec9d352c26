import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { createAuditDrain } from '../../src/stream/audit-drain.ts';
import { openLmdbLog } from '../../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { decodeParts, telemetryBatch } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

function setUp() {
  const clock = createTestClock();
  const dataDir = tempDir();
  const settings = { clock, logger: silentLogger, retentionMs: HOUR_MS };
  const memoryLog = () => createMemoryLog({ ...settings, bytesMax: 1e8 });
  const lmdbLog = () => {
    const log = openLmdbLog({ ...settings, cacheBytesMax: 1e6, path: join(dataDir, 'stream', 'home') });
    onTestFinished(() => log.close());
    return log;
  };
  /** The audit of a process that shares the folder. */
  const audit = () => createAudit({ dataDir, actor: 'someone', clock });
  const drain = (streamLog: StreamLog) =>
    createAuditDrain({ streamLog, spool: openAuditSpool(dataDir, 'home'), logger: silentLogger });
  return { clock, dataDir, folder: join(dataDir, 'audit', 'home'), memoryLog, lmdbLog, audit, drain };
}

async function entriesOf(log: StreamLog): Promise<Array<Record<string, unknown>>> {
  const outcome = await log.read({
    from: 'oldest',
    limit: 10_000,
    bytesMax: 1e7,
    oneAtLeast: true,
    filter: { table: 'audit_logs' },
  });
  if (outcome.kind !== 'batch') throw new Error(outcome.kind);
  return decodeParts(outcome.parts) as Array<Record<string, unknown>>;
}

test('entries of several processes move into the log whole and in order', async () => {
  const { clock, audit, drain, memoryLog, folder } = setUp();
  const log = memoryLog();
  const [cli, service] = [audit(), audit()];
  cli.record('home', {
    action: 'token.created',
    target: 'id-1',
    data: { name: 'me', deviceGroups: undefined },
  });
  await clock.advance(1);
  service.record('home', { actor: 'other', action: 'token.revoked', target: 'id-1' });
  const happenedMs = clock.now();
  await clock.advance(5_000);
  await drain(log)();
  const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
  const common = { table: 'audit_logs', kind: 'audit', target: 'id-1', store_time: clock.now() };
  expect(await entriesOf(log)).toMatchObject([
    { ...common, actor: 'someone', action: 'token.created', data: { name: 'me', entry: uuid } },
    { ...common, actor: 'other', action: 'token.revoked', data: { entry: uuid }, event_time: happenedMs },
  ]);
  expect(readdirSync(folder)).toEqual([]);
});

test('many entries move at once, each into the log of its workgroup', async () => {
  const { audit, drain, memoryLog, folder } = setUp();
  const log = memoryLog();
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < 1_050; index++) {
    const entry = { entryId: `e${index}`, actor: 'a', action: 'b.c', event_time: index };
    writeFileSync(join(folder, `${String(index).padStart(15, '0')}.json`), JSON.stringify(entry));
  }
  audit().record('elsewhere', { action: 'token.created' });
  await drain(log)();
  const entries = await entriesOf(log);
  expect(entries.map(({ event_time }) => event_time)).toEqual(Array.from({ length: 1_050 }, (_, at) => at));
  expect(audit().waiting('elsewhere')).toBe(1);
});

test('an entry is in the log once if its file was not removed, also hours after a crash', async () => {
  const { clock, audit, drain, lmdbLog, folder } = setUp();
  let log = lmdbLog();
  audit().record('home', { action: 'token.created' });
  const [name] = readdirSync(folder);
  const kept = readFileSync(join(folder, name!));
  await log.append(telemetryBatch(3));
  await drain(log)();
  await log.append(telemetryBatch(3));
  // The crash: the entry is in the log, and its file still exists.
  writeFileSync(join(folder, name!), kept);
  await log.close();
  await clock.advance(3 * HOUR_MS);
  log = lmdbLog();
  audit().record('home', { action: 'token.revoked' });
  await drain(log)();
  // After a start the messages stay for one more retention, because nobody could read them meanwhile.
  expect((await entriesOf(log)).map(({ action }) => action)).toEqual(['token.created', 'token.revoked']);
  expect(await log.countFrom(0n)).toBe(8);
  expect(readdirSync(folder)).toEqual([]);
});

test('a failed append loses no entry, and an append that failed after it was stored repeats no entry', async () => {
  const { audit, drain, memoryLog } = setUp();
  const log = memoryLog();
  const run = drain(log);
  const append = log.append;
  await run();
  audit().record('home', { action: 'token.created' });
  log.append = () => Promise.reject(new Error('the disk is full'));
  await expect(run()).rejects.toThrow('full');
  log.append = async (batch) => {
    await append(batch);
    throw new Error('the fault came after the disk had it');
  };
  await expect(run()).rejects.toThrow('after');
  log.append = append;
  await run();
  await run();
  expect((await entriesOf(log)).map(({ action }) => action)).toEqual(['token.created']);
});

test('an invalid file is moved away and delays nothing', async () => {
  const { audit, drain, memoryLog, folder } = setUp();
  const log = memoryLog();
  audit().record('home', { action: 'token.created' });
  writeFileSync(join(folder, '000-broken.json'), '{"entryId":1');
  await drain(log)();
  expect(await entriesOf(log)).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(['000-broken.json.unreadable']);
});

test('long texts are cut, and only the owner can read the folder', async () => {
  const { audit, drain, memoryLog, folder } = setUp();
  const log = memoryLog();
  audit().record('home', { action: 'configuration.changed', data: { ['p'.repeat(500)]: 'x'.repeat(9_999) } });
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, readdirSync(folder)[0]!)).mode & 0o077).toBe(0);
  await drain(log)();
  const [entry] = await entriesOf(log);
  const { data } = entry as { data: Record<string, string> };
  expect(data['p'.repeat(128)]).toHaveLength(4_096);
});
