import { encodeMessages } from '../../contract/encode-messages.ts';
import { DEVICE_STATUS_TABLE, type DeviceStatusItem } from '../../contract/messages.ts';
import { laterOffset, type Offset } from '../../contract/offset.ts';
import { serviceLimits } from '../../contract/service-limits.ts';
import { errorMessage } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { type Clock, elapsedOf, MINUTE_MS, SECOND_MS, type UtcMs } from '../../lib/time.ts';
import { chunksFrom } from '../log/stored-messages.ts';
import type { StreamLog } from '../log/stream-log.ts';
import { createPresence } from './presence.ts';
import type { PresenceStore } from './stored-presence.ts';

interface PresenceWatchOptions {
  streamLog: StreamLog;
  /** A device is offline after this much silence. */
  timeoutMs: number;
  /** Devices that are watched. */
  devicesMax?: number | undefined;
  store: PresenceStore;
  /** The time since which this process can receive data. Default: now. */
  listeningSinceMs?: UtcMs | undefined;
  clock: Clock;
  logger: Logger;
}

/** Follows a log, and announces in it which devices came online or went offline. */
export interface PresenceWatch {
  /**
   * Reads the log to its end, then announces the transitions that are due. To be called about every second.
   */
  look(): Promise<void>;
  /** Stores the presence for the next start. */
  save(): Promise<void>;
}

/**
 * If two successful looks are further apart than this, the process received nothing in between. It did not
 * run, or could not use the log.
 */
export const STALLED_MS = 10 * SECOND_MS;
/** After a crash this much of the log is read again. */
const SAVE_EVERY_MS = MINUTE_MS;
const ITEMS_MAX = 10_000;

/**
 * Each transition is announced exactly once, after any interruption and with any number of processes. Three
 * rules ensure this. A state counts only when it is in the log. The log is read to its end before anything is
 * announced. The log refuses an announcement if the process has not read the previous one.
 */
export async function watchPresence(options: PresenceWatchOptions): Promise<PresenceWatch> {
  const { streamLog, timeoutMs, store, clock, logger } = options;
  const devicesMax = options.devicesMax ?? serviceLimits.watchedDevicesPerWorkgroup;
  let { epoch } = await streamLog.bounds();
  const stored = await store.read();
  const presence = createPresence(timeoutMs, stored?.devices, devicesMax);
  let position: Offset = stored?.epoch === epoch ? stored.position : 0n;
  let saved = { epoch, position };
  let savedAtMs = elapsedOf(clock);
  let lookedAtMs = clock.now();
  /**
   * The time from which the silence of devices is counted. After an interruption it begins again, because
   * nothing could be received meanwhile.
   */
  let listeningSinceMs: UtcMs = options.listeningSinceMs ?? clock.now();

  const follow = async () => {
    const { epoch: epochNow, next } = await streamLog.bounds();
    if (epochNow !== epoch) {
      // The log may have lost messages. Then Redis may also have lost the stored presence.
      epoch = epochNow;
      listeningSinceMs = clock.now();
      savedAtMs = Number.NEGATIVE_INFINITY;
    }
    for await (const chunk of chunksFrom(streamLog, position)) {
      presence.take(chunk, position);
      position = chunk.lastOffset + 1n;
    }
    // Messages that were trimmed before they were read are lost.
    position = laterOffset(position, next);
  };

  const announce = async (items: readonly DeviceStatusItem[]) => {
    let readTo = position;
    for (let from = 0; from < items.length; from += ITEMS_MAX) {
      const batch = encodeMessages(items.slice(from, from + ITEMS_MAX), DEVICE_STATUS_TABLE);
      const announced = await streamLog.announce(batch, readTo);
      // Another process announced something first. The next look finds the transitions that are still due.
      if (announced === 'outdated') return;
      readTo = announced.lastOffset + 1n;
    }
    const offline = items.filter(({ state }) => state === 'offline').length;
    logger.info({ online: items.length - offline, offline }, 'presence.announced');
  };

  const save = async () => {
    const unwatched = presence.forget(clock.now());
    if (unwatched > 0) logger.warn({ devices: unwatched, max: devicesMax }, 'presence.too-many-devices');
    if (position === saved.position && epoch === saved.epoch) return;
    await store.write({ epoch, position, devices: [...presence.devices()] });
    saved = { epoch, position };
    savedAtMs = elapsedOf(clock);
  };

  return {
    async look() {
      const nowMs = clock.now();
      if (Math.abs(nowMs - lookedAtMs) > STALLED_MS) listeningSinceMs = nowMs;
      await follow();
      lookedAtMs = nowMs;
      const due = presence.due(nowMs, listeningSinceMs);
      if (due.length > 0) {
        try {
          await announce(due);
        } catch (error) {
          // The data of devices was refused in this time, too.
          listeningSinceMs = clock.now();
          logger.warn({ error: errorMessage(error) }, 'presence.not-announced');
        }
        await follow();
      }
      if (elapsedOf(clock) - savedAtMs >= SAVE_EVERY_MS) await save();
    },
    save,
  };
}
