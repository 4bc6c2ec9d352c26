import { encodeMessages } from '../../contract/encode-messages.ts';
import { DEVICE_STATUS_TABLE, type DeviceStatusItem } from '../../contract/messages.ts';
import { laterOffset, type Offset } from '../../contract/offset.ts';
import { serviceLimits } from '../../contract/service-limits.ts';
import { errorMessage } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../../lib/time.ts';
import { chunksFrom } from '../log/stored-messages.ts';
import type { StreamLog } from '../log/stream-log.ts';
import { createPresence } from './presence.ts';
import { readPresence, writePresence } from './presence-file.ts';

export interface PresenceWatchOptions {
  streamLog: StreamLog;
  /** A device that was heard is offline after this much silence. */
  timeoutMs: number;
  /** Devices that are watched. */
  devicesMax?: number | undefined;
  /** Where it is kept who was there. */
  path: string;
  clock: Clock;
  logger: Logger;
}

/** Follows a log, and says in it who has come and who has gone. */
export interface PresenceWatch {
  /** Looks once: reads the log to its end, then announces what is due. To be called every second or so. */
  look(): Promise<void>;
  /** Keeps who is there, for the next start. */
  save(): Promise<void>;
}

/** Between two looks that are this far apart the process did not run: nobody could be heard. */
const STALLED_MS = 10 * SECOND_MS;
/** After a crash this much of the log is read again. */
const SAVE_EVERY_MS = MINUTE_MS;
const ITEMS_MAX = 10_000;

/**
 * Every state is in the log before it counts, the log is read to its end before anything is announced, and it takes no announcement
 * of one who has not read the last: so a transition is announced once, whatever was cut off in between, and by however many.
 */
export async function watchPresence(options: PresenceWatchOptions): Promise<PresenceWatch> {
  const { streamLog, timeoutMs, path, clock, logger } = options;
  const devicesMax = options.devicesMax ?? serviceLimits.watchedDevicesPerWorkgroup;
  const { epoch } = await streamLog.bounds();
  const stored = readPresence(path, logger);
  const presence = createPresence(timeoutMs, stored?.devices, devicesMax);
  let position: Offset = stored?.epoch === epoch ? stored.position : 0n;
  let savedPosition = position;
  let savedAtMs = clock.now();
  let lookedAtMs = clock.now();
  /** Devices that could not be heard while nobody listened get all of their time again. */
  let listeningSinceMs: UtcMs = clock.now();

  const follow = async () => {
    const { next } = await streamLog.bounds();
    for await (const chunk of chunksFrom(streamLog, position)) {
      presence.take(chunk, position);
      position = chunk.lastOffset + 1n;
    }
    // What was not there to be read is gone for good.
    position = laterOffset(position, next);
  };

  const announce = async (items: readonly DeviceStatusItem[]) => {
    let seenTo = position;
    for (let from = 0; from < items.length; from += ITEMS_MAX) {
      const batch = encodeMessages(items.slice(from, from + ITEMS_MAX), DEVICE_STATUS_TABLE);
      const announced = await streamLog.announce(batch, seenTo);
      // Another service has said something first: what is still due is found by the next look.
      if (announced === 'not-seen') return;
      seenTo = announced.lastOffset + 1n;
    }
    const offline = items.filter(({ state }) => state === 'offline').length;
    logger.info({ online: items.length - offline, offline }, 'presence.announced');
  };

  const save = async () => {
    const unwatched = presence.forget(clock.now());
    if (unwatched > 0) logger.warn({ devices: unwatched, max: devicesMax }, 'presence.too-many-devices');
    if (position === savedPosition) return;
    await writePresence(path, { epoch, position, devices: [...presence.devices()] });
    savedPosition = position;
    savedAtMs = clock.now();
  };

  return {
    async look() {
      const nowMs = clock.now();
      if (Math.abs(nowMs - lookedAtMs) > STALLED_MS) listeningSinceMs = nowMs;
      lookedAtMs = nowMs;
      await follow();
      const due = presence.due(nowMs, listeningSinceMs);
      if (due.length > 0) {
        try {
          await announce(due);
        } catch (error) {
          // Whoever sent something meanwhile was refused as well.
          listeningSinceMs = clock.now();
          logger.warn({ problem: errorMessage(error) }, 'presence.not-announced');
        }
        await follow();
      }
      if (clock.now() - savedAtMs >= SAVE_EVERY_MS) await save();
    },
    save,
  };
}
