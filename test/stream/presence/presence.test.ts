import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { DEVICE_STATUS_TABLE } from '../../../src/contract/messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { dayStart, MINUTE_MS } from '../../../src/lib/time.ts';
import { createSite } from '../../../src/simulate/create-site.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { STALLED_MS } from '../../../src/stream/presence/presence-watch.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { isSoak, rounds } from '../../support/rounds.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { one, service, TIMEOUT_MS, two } from './start-presence.ts';

test('a device is announced once each: online with its first data, offline after silence, online with new data', async () => {
  const at = await service();
  const startMs = at.clock.now();
  await at.data(1);
  await at.pass(TIMEOUT_MS - 5_000);
  expect(await at.said()).toEqual(['1 online data received']);
  await at.pass(30 * MINUTE_MS);
  const returnedMs = at.clock.now();
  await at.data(1);
  await at.pass(MINUTE_MS);
  expect(await at.statuses()).toMatchObject([
    { device: one, state: 'online', event_time: startMs, reason: 'data received' },
    { device: one, state: 'offline', event_time: startMs + TIMEOUT_MS, reason: 'timeout' },
    { device: one, state: 'online', event_time: returnedMs, reason: 'data received' },
  ]);
});

test('a device that keeps sending is never announced as offline, however old its data is', async () => {
  const at = await service();
  for (let minute = 0; minute < 50; minute++) {
    await at.data(1, at.clock.now() - 86_400_000);
    await at.pass(MINUTE_MS);
  }
  expect(await at.said()).toEqual(['1 online data received']);
});

test('a message that cannot be read shows that its device is alive and affects no other device', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(5_000);
  await at.report(1, 'offline');
  // Two names that became one, as an older version stored them.
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

test('a reported state counts as a transition and is not announced again', async () => {
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

test('data measured before an offline report does not bring the device back, later data does', async () => {
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

test('a status and data in one chunk count in their order', async () => {
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

test('data that arrives during an offline announcement brings the device back at once', async () => {
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

test.runIf(isSoak)(
  'if a gateway reports sleeping and unreachable devices, only missing transitions are announced',
  async () => {
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
      // A look after a longer time counts as an interruption, which gives each device its full time again.
      clock.set(clock.now() + STALLED_MS);
      for (const { table, items } of site.messagesUntil(clock.now())) {
        await log.append(encodeMessages(items, table));
        for (const item of items) if ('state' in item) told.push(`${item.reason}`);
      }
      await at.watch.look();
    }
    expect(told).toEqual(
      expect.arrayContaining(['awake', 'asleep', 'connection lost', 'connection restored']),
    );
    const names = new Map(site.devices.map(({ id, name }) => [id, name]));
    const statuses = await at.statuses();
    const added = statuses.filter(({ reason }) => reason === 'data received' || reason === 'timeout');
    expect(added.map(({ device, reason }) => `${names.get(device!)} ${reason}`).toSorted()).toEqual([
      'battery data received',
      'grid meter data received',
      // Asleep, unreachable, reachable again: the gateway then reports it online although it still sleeps.
      'inverter 2 timeout',
    ]);
    expect(statuses).toHaveLength(told.length + added.length);
  },
);

test('no state is announced twice and the last one is right, in any order of events and interruptions', async () => {
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
        // Each message is new, so that no two have the same instant.
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
    { numRuns: rounds(15, 60) },
  );
});
