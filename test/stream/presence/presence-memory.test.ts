import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { offsetOf } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { DAY_MS, dayStart, MINUTE_MS } from '../../../src/lib/time.ts';
import { joinChunk } from '../../../src/stream/log/chunk.ts';
import { createPresence } from '../../../src/stream/presence/presence.ts';
import { createPresenceFile } from '../../../src/stream/presence/presence-file.ts';
import { deviceId } from '../../support/messages.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { one, service, TIMEOUT_MS, two } from './start-presence.ts';

test('devices are forgotten after a long time offline, and the oldest ones first if there is no room', () => {
  const startMs = dayStart('2026-11-20', 'UTC');
  const entry = (number: number, state: 'online' | 'offline' | undefined, heardMs: number) => ({
    device: deviceId(number),
    state,
    heardMs,
    reportedOfflineMs: undefined,
    returnedMs: undefined,
  });
  const day = 86_400_000;
  const known = [
    entry(1, 'online', startMs - 30 * day),
    entry(2, 'offline', startMs - 7 * day),
    entry(3, 'offline', startMs - 7 * day - 1),
    entry(4, undefined, startMs - 8 * day),
    { ...entry(5, 'offline', 0), reportedOfflineMs: startMs - day },
    { ...entry(6, 'offline', startMs - 9 * day), returnedMs: startMs },
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

test('a watch that runs forgets devices, in memory and in its file', async () => {
  const path = join(tempDir(), 'presence.json');
  const at = await service({ path });
  const stored = async () =>
    (await createPresenceFile(path, silentLogger).read())!.devices.map(({ device }) => device);
  await at.data(1);
  await at.pass(TIMEOUT_MS + MINUTE_MS);
  expect(await stored()).toEqual([one]);
  await at.clock.advance(8 * DAY_MS);
  await at.data(2);
  await at.pass(2 * MINUTE_MS);
  expect(await stored()).toEqual([two]);
});

test('many devices are stored in parts, so that other work gets a turn', { tags: ['slow'] }, async () => {
  const path = join(tempDir(), 'stream', 'presence.json');
  const store = createPresenceFile(path, silentLogger);
  const devices = Array.from({ length: 50_000 }, (_, index) => ({
    device: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    state: 'online' as const,
    heardMs: index,
    reportedOfflineMs: undefined,
    returnedMs: index % 2 === 0 ? undefined : index,
  }));
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  await store.write({ epoch: 'e', position: 7n, devices });
  clearInterval(count);
  expect(turns).toBeGreaterThan(5);
  expect(await store.read()).toEqual({ epoch: 'e', position: 7n, devices });
  await store.write({ epoch: 'e', position: 8n, devices: [] });
  expect(await store.read()).toEqual({ epoch: 'e', position: 8n, devices: [] });
});
