import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { HOUR_MS } from '../../../src/lib/time.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { DevicePresence } from '../../../src/stream/presence/presence.ts';
import { watchPresence } from '../../../src/stream/presence/presence-watch.ts';
import { parsePresence, presencePieces } from '../../../src/stream/presence/stored-presence.ts';
import { deviceId, telemetryBatch } from '../../support/messages.ts';
import { createTestClock } from '../../support/test-clock.ts';

const device: DevicePresence = {
  device: deviceId(1),
  state: 'online',
  heardMs: 5,
  reportedOfflineMs: undefined,
  returnedMs: undefined,
};

test.each<[about: string, devices: DevicePresence[]]>([
  ['of no device', []],
  ['of a device that is online', [device]],
  ['of a device without a state', [{ ...device, state: undefined }]],
  ['of a device that was reported offline', [{ ...device, state: 'offline', reportedOfflineMs: 7 }]],
  ['of a device that has returned', [{ ...device, state: 'offline', returnedMs: 8 }]],
  ['of 2,001 devices', Array.from({ length: 2_001 }, (_, index) => ({ ...device, device: deviceId(index) }))],
])('the presence %s is read as it was stored', (_, devices) => {
  const stored = { epoch: 'e', position: 2n ** 60n, devices };
  expect(parsePresence([...presencePieces(stored)].join(''))).toEqual(stored);
});

test.each([
  ['is cut off', '{"format":1,"epoch":"e","position":"1","devices":['],
  ['has another format', '{"format":2,"epoch":"e","position":"1","devices":[]}'],
  ['has a position that is no offset', '{"format":1,"epoch":"e","position":"-1","devices":[]}'],
  [
    'has a state that does not exist',
    '{"format":1,"epoch":"e","position":"1","devices":[["d","asleep",1,null,null]]}',
  ],
])('a stored presence that %s is not used', (_, text) => {
  expect(parsePresence(text)).toBeUndefined();
});

test('the presence of another log counts, and its position does not', async () => {
  const clock = createTestClock();
  const settings = { clock, logger: silentLogger };
  const log = createMemoryLog({ ...settings, retentionMs: HOUR_MS, bytesMax: 1e6 });
  await log.append(telemetryBatch(1));
  const written: unknown[] = [];
  const gone = { ...device, device: deviceId(7), state: 'offline' as const, heardMs: clock.now() };
  const watch = await watchPresence({
    ...settings,
    streamLog: log,
    timeoutMs: HOUR_MS,
    store: {
      read: async () => ({ epoch: 'another', position: 2n ** 63n, devices: [gone] }),
      write: async (stored) => void written.push(structuredClone(stored)),
    },
  });
  await watch.look();
  await watch.save();
  const { epoch, next } = await log.bounds();
  expect(written).toEqual([
    {
      epoch,
      position: next,
      devices: [gone, expect.objectContaining({ device: deviceId(1), state: 'online' })],
    },
  ]);
});
