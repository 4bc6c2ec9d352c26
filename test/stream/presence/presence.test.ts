import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { DEVICE_STATUS_TABLE, type DeviceStatusItem } from '../../../src/contract/messages.ts';
import { offsetOf } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { dayStart, MINUTE_MS } from '../../../src/lib/time.ts';
import { createSite } from '../../../src/simulate/create-site.ts';
import { joinChunk } from '../../../src/stream/log/chunk.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { createPresence } from '../../../src/stream/presence/presence.ts';
import { readPresence, writePresence } from '../../../src/stream/presence/presence-file.ts';
import { type PresenceWatch, watchPresence } from '../../../src/stream/presence/presence-watch.ts';
import { decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { startRedis } from '../../support/redis.ts';
import { openTestRedisLog } from '../../support/redis-log.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';

const TIMEOUT_MS = 15 * MINUTE_MS;
const RETENTION_MS = 60 * MINUTE_MS;
const [one, two] = [deviceId(1), deviceId(2)];

interface Service {
  clock: TestClock;
  log: StreamLog;
  watch: PresenceWatch;
  /** Sends data of a device, measured now or earlier. */
  data(device: number, measuredMs?: number): Promise<void>;
  report(device: number, state: 'online' | 'offline'): Promise<void>;
  /** Lets time pass, with a look a second as the service does; a look a minute where it is much. */
  pass(ms: number): Promise<void>;
  /** Device, state and reason of every status in the log. */
  said(): Promise<string[]>;
  statuses(): Promise<Array<Partial<DeviceStatusItem>>>;
}

async function service(
  options: { clock?: TestClock; log?: StreamLog; path?: string } = {},
): Promise<Service> {
  const clock = options.clock ?? createTestClock();
  const settings = { clock, logger: silentLogger, retentionMs: RETENTION_MS };
  const log = options.log ?? createMemoryLog({ ...settings, bytesMax: 1e8 });
  const path = options.path ?? join(tempDir(), 'presence.json');
  const watch = await watchPresence({
    streamLog: log,
    timeoutMs: TIMEOUT_MS,
    path,
    clock,
    logger: silentLogger,
  });
  const statuses = async () => {
    const filter = { table: DEVICE_STATUS_TABLE };
    const outcome = await log.read({
      from: 'oldest',
      limit: 10_000,
      bytesMax: 1e7,
      oneAtLeast: true,
      filter,
    });
    if (outcome.kind !== 'batch') throw new Error(outcome.kind);
    return decodeParts(outcome.parts) as Array<Partial<DeviceStatusItem>>;
  };
  return {
    clock,
    log,
    watch,
    async data(device, measuredMs = clock.now()) {
      const item = { device: deviceId(device), event_time: measuredMs, data: { power: 1 } };
      await log.append(encodeMessages([item], 'solar'));
    },
    async report(device, state) {
      const item = { device: deviceId(device), state, event_time: clock.now(), reason: 'gateway' };
      await log.append(encodeMessages([item], DEVICE_STATUS_TABLE));
    },
    async pass(ms) {
      for (let left = ms; left > 0; left -= 5_000) {
        await clock.advance(Math.min(left, 5_000));
        await watch.look();
      }
    },
    statuses,
    said: async () =>
      (await statuses()).map(
        ({ device, state, reason }) => `${Number(device?.slice(-2))} ${state} ${reason ?? ''}`,
      ),
  };
}

test('a device is online with its first data, offline after its time of silence, online when it is heard again: once each', async () => {
  const at = await service();
  const startMs = at.clock.now();
  await at.data(1);
  await at.pass(TIMEOUT_MS - 5_000);
  expect(await at.said()).toEqual(['1 online data received']);
  await at.pass(30 * MINUTE_MS);
  const backMs = at.clock.now();
  await at.data(1);
  await at.pass(MINUTE_MS);
  expect(await at.statuses()).toMatchObject([
    { device: one, state: 'online', event_time: startMs, reason: 'data received' },
    { device: one, state: 'offline', event_time: startMs + TIMEOUT_MS, reason: 'timeout' },
    { device: one, state: 'online', event_time: backMs, reason: 'data received' },
  ]);
});

test('a device that keeps sending is never said to be gone, however old what it sends is', async () => {
  const at = await service();
  for (let minute = 0; minute < 50; minute++) {
    await at.data(1, at.clock.now() - 86_400_000);
    await at.pass(MINUTE_MS);
  }
  expect(await at.said()).toEqual(['1 online data received']);
});

test('a message that cannot be read stops nobody, and is a sign of life of its device', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(5_000);
  await at.report(1, 'offline');
  // Two names that became one: what an older version let in.
  const data = { '\ud800': 1, '\ud801': 2 };
  const event_time = at.clock.now();
  await at.log.append(encodeMessages([{ device: one, event_time, data }], 'solar'));
  await at.data(3);
  await at.pass(5_000);
  expect(await at.said()).toEqual([
    '1 online data received',
    '1 offline gateway',
    '1 online data received',
    '3 online data received',
  ]);
});

test('what others report is a transition of its own, and is not said again', async () => {
  const at = await service();
  await at.report(1, 'online');
  await at.data(1);
  await at.pass(MINUTE_MS);
  await at.report(1, 'offline');
  await at.pass(30 * MINUTE_MS);
  expect(await at.said()).toEqual(['1 online gateway', '1 offline gateway']);
  await at.report(1, 'online');
  await at.pass(TIMEOUT_MS);
  expect((await at.said()).slice(2)).toEqual(['1 online gateway', '1 offline timeout']);
});

test('data measured before a device was reported offline do not bring it back, later ones do', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(MINUTE_MS);
  const offlineMs = at.clock.now();
  await at.report(1, 'offline');
  await at.pass(MINUTE_MS);
  await at.data(1, offlineMs);
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online data received', '1 offline gateway']);
  await at.data(1, offlineMs + 1);
  await at.pass(MINUTE_MS);
  expect((await at.said()).slice(2)).toEqual(['1 online data received']);
});

test('a status and data that are stored together count in their order', async () => {
  const at = await service();
  const status = (state: 'online' | 'offline') =>
    encodeMessages([{ device: one, state, event_time: at.clock.now() }], DEVICE_STATUS_TABLE);
  await at.data(2);
  await Promise.all([
    at.log.append(telemetryBatch(1, { device: 2 })),
    at.log.append(status('online')),
    at.log.append(telemetryBatch(3, { device: 1 })),
    at.log.append(status('offline')),
  ]);
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online ', '1 offline ', '2 online data received']);
});

test('data that crossed the end of its time bring the device back at once', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(TIMEOUT_MS - 5_000);
  const { announce } = at.log;
  at.log.announce = async (batch, readTo) => {
    at.log.announce = announce;
    await at.data(1);
    return announce(batch, readTo);
  };
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online data received', '1 offline timeout', '1 online data received']);
});

test('after a start nobody is announced again, and who was silent meanwhile gets all of its time', async () => {
  const path = join(tempDir(), 'presence.json');
  const before = await service({ path });
  await before.data(1);
  await before.pass(TIMEOUT_MS);
  await before.data(2);
  await before.pass(MINUTE_MS);
  await before.watch.save();
  const said = ['1 online data received', '1 offline timeout', '2 online data received'];
  expect(await before.said()).toEqual(said);

  await before.clock.advance(20 * MINUTE_MS);
  const after = await service({ ...before, path });
  await after.pass(TIMEOUT_MS - 5_000);
  expect(await after.said()).toEqual(said);
  await after.pass(5_000);
  expect((await after.said()).slice(3)).toEqual(['2 offline timeout']);
});

test('a process that was stopped for a while and goes on has heard nobody, so silence counts anew', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(MINUTE_MS);
  await at.clock.advance(40 * MINUTE_MS);
  await at.watch.look();
  await at.pass(TIMEOUT_MS - 5_000);
  expect(await at.said()).toEqual(['1 online data received']);
  await at.pass(5_000);
  expect(await at.said()).toHaveLength(2);
});

test('where the log takes nothing, nobody is said to be gone once it does again', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(TIMEOUT_MS - 5_000);
  const { announce } = at.log;
  at.log.announce = () => Promise.reject(new Error('the disk is full'));
  await at.pass(5 * MINUTE_MS);
  at.log.announce = announce;
  await at.pass(MINUTE_MS);
  await at.data(1);
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online data received']);
});

test('an announcement that is stored although its append failed is not made again', async () => {
  const at = await service();
  await at.data(1);
  const { announce } = at.log;
  at.log.announce = async (batch, readTo) => {
    await announce(batch, readTo);
    throw new Error('the fault came after the disk had it');
  };
  await at.watch.look();
  at.log.announce = announce;
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online data received']);
});

test('what was announced and is gone from the log holds up no announcement of those who have not read it', async () => {
  const path = join(tempDir(), 'presence.json');
  const before = await service({ path });
  await before.data(1);
  await before.pass(MINUTE_MS);
  await before.watch.save();
  const early = `${path}.early`;
  copyFileSync(path, early);
  await before.pass(TIMEOUT_MS);
  expect(await before.said()).toEqual(['1 online data received', '1 offline timeout']);
  await before.clock.advance(2 * RETENTION_MS);
  await before.log.trim();
  const after = await service({ clock: before.clock, log: before.log, path: early });
  await after.pass(TIMEOUT_MS + MINUTE_MS);
  expect(await after.said()).toEqual(['1 offline timeout']);
});

test('who is offline stays known beyond the retention, and an unreadable file costs no more than that', async () => {
  const path = join(tempDir(), 'presence.json');
  const folder = tempDir();
  const clock = createTestClock();
  const settings = {
    clock,
    logger: silentLogger,
    retentionMs: RETENTION_MS,
    cacheBytesMax: 1e6,
    path: folder,
  };
  const open = () => {
    const log = openLmdbLog(settings);
    onTestFinished(() => log.close());
    return log;
  };
  let log = open();
  let at = await service({ clock, log, path });
  await at.data(1);
  await at.pass(TIMEOUT_MS + 2 * RETENTION_MS);
  await at.watch.save();
  await log.trim();
  await log.close();

  log = open();
  at = await service({ clock, log, path });
  await at.data(2);
  await at.data(1);
  await at.pass(MINUTE_MS);
  expect((await at.said()).toSorted()).toEqual(['1 online data received', '2 online data received']);
  await log.close();

  writeFileSync(path, '{"format":1,"epo');
  log = open();
  at = await service({ clock, log, path });
  await at.pass(MINUTE_MS);
  expect(await at.said()).toHaveLength(2);
});

test('of a site whose gateway tells who sleeps and who is cut off, only what it does not tell is added', async () => {
  const timezone = 'Europe/Paris';
  const startMs = dayStart('2026-06-20', timezone);
  const site = createSite({ seed: 7, timezone, startMs, readingEveryMs: 5 * MINUTE_MS });
  const clock = createTestClock(startMs);
  const log = createMemoryLog({
    clock,
    logger: silentLogger,
    retentionMs: 30 * 24 * 60 * MINUTE_MS,
    bytesMax: 1e9,
  });
  const at = await service({ clock, log });
  const told: string[] = [];
  for (const endMs = startMs + 30 * 60 * MINUTE_MS; clock.now() < endMs; ) {
    clock.set(clock.now() + 9_000);
    for (const { table, items } of site.messagesUntil(clock.now())) {
      await log.append(encodeMessages(items, table));
      for (const item of items) if ('state' in item) told.push(`${item.reason}`);
    }
    await at.watch.look();
  }
  expect(told).toEqual(expect.arrayContaining(['awake', 'asleep', 'connection lost', 'connection restored']));
  const names = new Map(site.devices.map(({ id, name }) => [id, name]));
  const statuses = await at.statuses();
  const added = statuses.filter(({ reason }) => reason === 'data received' || reason === 'timeout');
  expect(added.map(({ device, reason }) => `${names.get(device!)} ${reason}`).toSorted()).toEqual([
    'battery data received',
    'grid meter data received',
    // Asleep, cut off, in reach again: by then the gateway takes it for online, and it sleeps on.
    'inverter 2 timeout',
  ]);
  expect(statuses).toHaveLength(told.length + added.length);
});

test('whatever happens, in whatever order, cut off or not: no state is said twice, and the last one is true', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('data' as const), device: fc.constantFrom(1, 2) }),
    fc.record({
      kind: fc.constant('report' as const),
      device: fc.constantFrom(1, 2),
      state: fc.constantFrom('online' as const, 'offline' as const),
    }),
    fc.record({ kind: fc.constant('pass' as const), minutes: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ kind: fc.constant('restart' as const), saved: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const path = join(tempDir(), 'presence.json');
      let at = await service({ path });
      const own: string[] = [];
      for (const what of steps) {
        if (what.kind === 'data') await at.data(what.device);
        else if (what.kind === 'report') await at.report(what.device, what.state);
        else if (what.kind === 'pass') await at.pass(what.minutes * MINUTE_MS);
        else {
          if (what.saved) await at.watch.save();
          at = await service({ clock: at.clock, log: at.log, path });
        }
        // Something new each time, so that no two messages have one instant.
        await at.clock.advance(1);
      }
      await at.pass(TIMEOUT_MS + 10_000);
      const last = new Map<string, string>();
      for (const { device, state, reason } of await at.statuses()) {
        if (reason !== 'gateway' && last.get(device!) === state) own.push(`${device} ${state} twice`);
        last.set(device!, state!);
      }
      expect(own).toEqual([]);
      for (const device of [one, two]) expect(last.get(device) ?? 'offline').toBe('offline');
    }),
    { numRuns: 60 },
  );
});

test('several services of one log in Redis, each with a data folder of its own, say each transition once', async () => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  const clock = createTestClock();
  const services = await Promise.all(
    [1, 2, 3].map(async () => {
      const { log } = await openTestRedisLog(redis.url, { clock });
      return service({ clock, log });
    }),
  );
  const [first] = services;
  const lookAll = () => Promise.all(services.map(({ watch }) => watch.look()));
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    await Promise.all([1, 2, 3, 4, 5].map((device) => services[device % 3]!.data(device)));
    await lookAll();
    await lookAll();
    await pass(clock, TIMEOUT_MS, lookAll);
  }
  const said = await first!.said();
  expect(said.toSorted()).toEqual(
    [1, 2, 3, 4, 5]
      .flatMap((device) =>
        Array.from({ length: rounds }, () => [`${device} offline timeout`, `${device} online data received`]),
      )
      .flat()
      .toSorted(),
  );
});

/** Lets time pass with looks that are near enough for nobody to count as asleep. */
async function pass(clock: TestClock, ms: number, look: () => Promise<unknown>): Promise<void> {
  for (let left = ms; left > 0; left -= 9_000) await clock.advance(9_000).then(look);
}

test('devices are forgotten once they have been offline for long, and those that were heard longest ago where there is no room', () => {
  const startMs = dayStart('2026-11-20', 'UTC');
  const entry = (number: number, state: 'online' | 'offline' | undefined, heardMs: number) => ({
    device: deviceId(number),
    state,
    heardMs,
    reportedOfflineMs: undefined,
    backMs: undefined,
  });
  const day = 86_400_000;
  const known = [
    entry(1, 'online', startMs - 30 * day),
    entry(2, 'offline', startMs - 7 * day),
    entry(3, 'offline', startMs - 7 * day - 1),
    entry(4, undefined, startMs - 8 * day),
    { ...entry(5, 'offline', 0), reportedOfflineMs: startMs - day },
    { ...entry(6, 'offline', startMs - 9 * day), backMs: startMs },
  ];
  const left = (presence: ReturnType<typeof createPresence>) =>
    [...presence.devices()].map(({ device }) => Number(device.slice(-2)));
  const roomy = createPresence(TIMEOUT_MS, known);
  expect(roomy.forget(startMs)).toBe(0);
  expect(left(roomy)).toEqual([1, 2, 5, 6]);

  const many = Array.from({ length: 10 }, (_, index) => entry(index + 1, 'offline', startMs - index));
  const full = createPresence(TIMEOUT_MS, many, 10);
  const batch = encodeMessages(
    [11, 12].map((number) => ({ device: deviceId(number), event_time: startMs, data: {} })),
    'solar',
  );
  const chunk = joinChunk([batch], offsetOf(startMs), 0);
  full.take(chunk, 0n);
  expect(full.forget(startMs)).toBe(2);
  expect(left(full)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  full.take(chunk, 0n);
  expect(left(full)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
  expect(full.due(startMs, startMs)).toMatchObject([{ device: deviceId(11), state: 'online' }]);
});

test('many devices are kept in pieces, between which others get their turn', async () => {
  const path = join(tempDir(), 'stream', 'presence.json');
  const devices = Array.from({ length: 50_000 }, (_, index) => ({
    device: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    state: 'online' as const,
    heardMs: index,
    reportedOfflineMs: undefined,
    backMs: index % 2 === 0 ? undefined : index,
  }));
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  await writePresence(path, { epoch: 'e', position: 7n, devices });
  clearInterval(count);
  expect(turns).toBeGreaterThan(5);
  expect(readPresence(path, silentLogger)).toEqual({ epoch: 'e', position: 7n, devices });
  await writePresence(path, { epoch: 'e', position: 8n, devices: [] });
  expect(readPresence(path, silentLogger)).toEqual({ epoch: 'e', position: 8n, devices: [] });
});
