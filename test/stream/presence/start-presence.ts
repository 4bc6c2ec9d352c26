import { join } from 'node:path';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { DEVICE_STATUS_TABLE, type DeviceStatusItem } from '../../../src/contract/messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { MINUTE_MS } from '../../../src/lib/time.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { createPresenceFile } from '../../../src/stream/presence/presence-file.ts';
import { type PresenceWatch, watchPresence } from '../../../src/stream/presence/presence-watch.ts';
import { decodeParts, deviceId } from '../../support/messages.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';

export const TIMEOUT_MS = 15 * MINUTE_MS;
export const RETENTION_MS = 60 * MINUTE_MS;
export const [one, two] = [deviceId(1), deviceId(2)];

export interface Service {
  clock: TestClock;
  log: StreamLog;
  watch: PresenceWatch;
  /** Sends data of a device, measured now or earlier. */
  data(device: number, measuredMs?: number): Promise<void>;
  report(device: number, state: 'online' | 'offline'): Promise<void>;
  /**
   * Advances the clock, with one look for each second as in the service, or one for each minute if the time
   * is long.
   */
  pass(ms: number): Promise<void>;
  /** Device, state and reason of all status messages in the log. */
  said(): Promise<string[]>;
  statuses(): Promise<Array<Partial<DeviceStatusItem>>>;
}

export async function service(
  options: { clock?: TestClock; log?: StreamLog; path?: string } = {},
): Promise<Service> {
  const clock = options.clock ?? createTestClock();
  const settings = { clock, logger: silentLogger, retentionMs: RETENTION_MS };
  const log = options.log ?? createMemoryLog({ ...settings, bytesMax: 1e8 });
  const path = options.path ?? join(tempDir(), 'presence.json');
  const watch = await watchPresence({
    streamLog: log,
    timeoutMs: TIMEOUT_MS,
    store: createPresenceFile(path, silentLogger),
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

/** Advances the clock in steps that are too short to count as an interruption. */
export async function pass(clock: TestClock, ms: number, look: () => Promise<unknown>): Promise<void> {
  for (let left = ms; left > 0; left -= 9_000) await clock.advance(9_000).then(look);
}
