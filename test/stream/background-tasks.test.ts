import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createAccessAudit } from '../../src/access/access-audit.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { createRateLimit } from '../../src/http/rate-limit.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { createLastingLease } from '../../src/redis/task-lease.ts';
import { startBackgroundTasks, type WatchedWorkgroup } from '../../src/stream/background-tasks.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { createPresenceFile } from '../../src/stream/presence/presence-file.ts';
import { createSocketAdmission } from '../../src/stream/socket/socket-admission.ts';
import { createStream } from '../../src/stream/stream.ts';
import { decodeParts, telemetryBatch } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, settle } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

function setUp(openLog?: () => StreamLog) {
  const clock = createTestClock();
  const dataDir = tempDir();
  const log = createMemoryLog({ clock, logger: silentLogger, retentionMs: HOUR_MS, bytesMax: 1e8 });
  const common = { clock, startTimer: clock.startTimer, logger: silentLogger };
  const stream = createStream({ openLog: openLog ?? (() => log), retentionMs: HOUR_MS, ...common });
  let holder: object | undefined;
  let watched: WatchedWorkgroup[] = [{ id: 'home', deviceTimeoutMs: MINUTE_MS }];
  /** Starts the tasks like another process on the same data folder. */
  const start = () => {
    const self = {};
    const hold = async () => {
      if (holder !== undefined) return undefined;
      holder = self;
      return async () => {
        holder = undefined;
      };
    };
    const lease = createLastingLease(hold, clock);
    return startBackgroundTasks({
      stream,
      workgroups: () => watched,
      dataDir,
      folderLease: lease,
      presenceLease: lease,
      presenceStoreOf: (id) => createPresenceFile(join(dataDir, `${id}.json`), silentLogger),
      ...common,
    });
  };
  const told = async () => {
    const outcome = await log.read({ from: 'oldest', limit: 1_000, bytesMax: 1e6, oneAtLeast: true });
    if (outcome.kind !== 'batch') throw new Error(outcome.kind);
    const messages = decodeParts(outcome.parts) as Array<Record<string, unknown>>;
    return messages.flatMap(({ action, state, reason }) =>
      (action ?? state) ? [`${action ?? state} ${reason ?? ''}`] : [],
    );
  };
  const audit = createAudit({ dataDir, actor: 'operator', clock });
  const watch = (next: WatchedWorkgroup[]) => {
    watched = next;
  };
  return { clock, dataDir, log, stream, start, told, audit, common, watch };
}

test('one of several processes on a data folder runs the tasks, and another takes over after its end', async () => {
  const { clock, log, start, told, audit } = setUp();
  const [first, second] = [start(), start()];
  await settle();
  await log.append(telemetryBatch(1));
  audit.record('home', { action: 'token.created' });
  await clock.advance(5 * SECOND_MS);
  expect(await told()).toEqual(['token.created ', 'online data received']);
  await first.stop();
  await clock.advance(2 * MINUTE_MS);
  expect((await told()).slice(2)).toEqual(['offline timeout']);
  await second.stop();
  expect(await told()).toHaveLength(3);
});

test('tasks follow a changed time-out, a removed workgroup and an added one', async () => {
  const { clock, log, start, told, audit, watch } = setUp();
  const startedAtMs = clock.now();
  const upkeep = start();
  await settle();
  await log.append(telemetryBatch(1));
  await clock.advance(5 * SECOND_MS);
  watch([{ id: 'home', deviceTimeoutMs: 10 * SECOND_MS }]);
  await until('the device is offline', async () => {
    await clock.advance(SECOND_MS);
    return (await told()).length === 2;
  });
  expect(await told()).toEqual(['online data received', 'offline timeout']);
  expect(clock.now() - startedAtMs).toBeLessThan(MINUTE_MS);
  watch([]);
  await clock.advance(2 * SECOND_MS);
  audit.record('home', { action: 'token.created' });
  await clock.advance(5 * SECOND_MS);
  expect(await told()).toHaveLength(2);
  watch([{ id: 'home', deviceTimeoutMs: undefined }]);
  await until('the entry is in the log', async () => {
    await clock.advance(SECOND_MS);
    return (await told()).length === 3;
  });
  expect((await told()).slice(2)).toEqual(['token.created ']);
  await upkeep.stop();
});

test('entries that are recorded before the end are in the log at the end', async () => {
  const { start, told, audit } = setUp();
  const upkeep = start();
  await settle();
  audit.record('home', { action: 'token.revoked' });
  await upkeep.stop();
  expect(await told()).toEqual(['token.revoked ']);
});

test('a log that cannot be opened is tried again', async () => {
  let attempts = 0;
  const { clock, log, start, told, audit } = setUp(() => {
    attempts++;
    if (attempts < 3) throw new Error('the disk is away');
    return log;
  });
  audit.record('home', { action: 'token.created' });
  const upkeep = start();
  await clock.advance(10 * SECOND_MS);
  expect([attempts, await told()]).toEqual([3, ['token.created ']]);
  await upkeep.stop();
});

test('a refused handshake of a socket is recorded like a refused request', async () => {
  const { clock, dataDir, stream, start, told, audit, common } = setUp();
  const access = await createAccess({ dataDir, issuer: 'wattline', clock });
  const admission = createSocketAdmission({
    stream,
    access,
    groupsOf: (id) => (id === 'home' ? {} : undefined),
    audit: createAccessAudit({ dataDir, audit, ...common }),
    rateLimit: createRateLimit({ perMinute: 100, clock }),
    retentionMs: HOUR_MS,
    clock,
  });
  const connect = (workgroupId: string) =>
    admission({
      auth: { token: 'nonsense', workgroupId },
      query: {},
      authorization: undefined,
      address: '::1',
    });
  for (const workgroupId of ['home', 'nowhere'])
    await expect(connect(workgroupId)).rejects.toMatchObject({ code: 'InvalidToken' });
  await clock.advance(SECOND_MS);
  const upkeep = start();
  await upkeep.stop();
  expect(await told()).toEqual(['token.refused ']);
});
