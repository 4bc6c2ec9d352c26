import { MalformedError } from '../../cbor/malformed-error.ts';
import { DEVICE_STATUS_TABLE, type DeviceStatusItem } from '../../contract/messages.ts';
import { type Offset, offsetMs } from '../../contract/offset.ts';
import { serviceLimits } from '../../contract/service-limits.ts';
import { DAY_MS, type UtcMs } from '../../lib/time.ts';
import { type Chunk, indexFrom } from '../log/chunk.ts';
import { type StoredMessage, storedMessage } from '../log/stored-messages.ts';

/** What the service gives as the reason of the states that it finds out by itself. */
export const presenceReasons = { offline: 'timeout', online: 'data received' } as const;

/** What is known of a device, by append times: as the service has heard it. */
export interface DevicePresence {
  device: string;
  /** As the log last said it; undefined where the log has never said anything. */
  state: DeviceStatusItem['state'] | undefined;
  /** Its last sign of life. */
  heardMs: UtcMs;
  /** When somebody reported it offline, by the reporter's clock: data from before then does not bring it back. */
  reportedOfflineMs: UtcMs | undefined;
  /** Since when there has been data of a device that is not online, which is to be announced. */
  backMs: UtcMs | undefined;
}

/**
 * Who is there, from what is in the log: its data are signs of life, its device status messages are the states, whoever sent
 * them. The same log gives the same presence, so that nothing has to be kept in step with it.
 */
export interface Presence {
  /** Takes in the messages of a chunk from a position on. Costs a look at its list of devices, where none changes its state. */
  take(chunk: Chunk, position: Offset): void;
  /**
   * The transitions that the log does not tell yet: data of a device that is not online, and silence of one that is.
   * @param listeningSinceMs silence counts from here on: before, the service could not have heard anybody
   */
  due(nowMs: UtcMs, listeningSinceMs: UtcMs): DeviceStatusItem[];
  /**
   * Forgets devices that have been offline for long, and where there is little room left those that were heard longest ago. One
   * that is heard again is announced like a new one.
   * @returns how many new devices there was no room for since the last call
   */
  forget(nowMs: UtcMs): number;
  devices(): Iterable<DevicePresence>;
}

/** A device that is not online is forgotten after this much silence. */
const FORGOTTEN_AFTER_MS = 7 * DAY_MS;
/** Devices that are online are never forgotten; of the others room is made beyond this. */
const DEVICES_KEPT_SHARE = 0.9;

export function createPresence(
  timeoutMs: number,
  known: Iterable<DevicePresence> = [],
  devicesMax: number = serviceLimits.watchedDevicesPerWorkgroup,
): Presence {
  const devices = new Map<string, DevicePresence>();
  /** Those that are to be announced as online. */
  const back = new Set<DevicePresence>();
  /** Nobody's time is up before this. */
  let lookAgainMs = Number.NEGATIVE_INFINITY;
  for (const one of known) {
    devices.set(one.device, one);
    if (one.backMs !== undefined) back.add(one);
  }

  let unwatched = 0;
  const entryOf = (device: string): DevicePresence | undefined => {
    let entry = devices.get(device);
    if (entry === undefined) {
      if (devices.size >= devicesMax) {
        unwatched++;
        return undefined;
      }
      entry = { device, state: undefined, heardMs: 0, reportedOfflineMs: undefined, backMs: undefined };
      devices.set(device, entry);
    }
    return entry;
  };

  const setBack = (entry: DevicePresence, backMs: UtcMs | undefined) => {
    entry.backMs = backMs;
    if (backMs === undefined) back.delete(entry);
    else back.add(entry);
  };

  /** @param isBefore whether all of the data was measured before an instant */
  const hear = (device: string, atMs: UtcMs, isBefore: (instantMs: UtcMs) => boolean) => {
    const entry = entryOf(device);
    if (entry === undefined) return;
    if (atMs > entry.heardMs) entry.heardMs = atMs;
    if (entry.state === 'online' || entry.backMs !== undefined) return;
    if (entry.reportedOfflineMs !== undefined && isBefore(entry.reportedOfflineMs)) return;
    setBack(entry, atMs);
  };

  const learn = (message: StoredMessage | undefined, atMs: UtcMs) => {
    if (message === undefined) return;
    const { device, state, reason, event_time: eventTimeMs } = message;
    if (typeof device !== 'string' || (state !== 'online' && state !== 'offline')) return;
    const entry = entryOf(device);
    if (entry === undefined) return;
    entry.state = state;
    entry.reportedOfflineMs = undefined;
    setBack(entry, undefined);
    if (state === 'online') {
      // The service's own word is no sign of life.
      if (reason !== presenceReasons.online && atMs > entry.heardMs) entry.heardMs = atMs;
      lookAgainMs = Math.min(lookAgainMs, entry.heardMs + timeoutMs);
    } else if (reason !== presenceReasons.offline) entry.reportedOfflineMs = Number(eventTimeMs);
    // Its data and the end of its time have crossed.
    else if (atMs - entry.heardMs < timeoutMs) setBack(entry, entry.heardMs);
  };

  /** Messages in their order, because a device may send data and be reported in the same chunk. */
  const takeOneByOne = (chunk: Chunk, from: number) => {
    const statusTable = chunk.tables.indexOf(DEVICE_STATUS_TABLE);
    for (let index = from; index < chunk.count; index++) {
      const atMs = offsetMs(chunk.firstOffset + BigInt(index));
      const device = chunk.devices[chunk.deviceIds[index]!];
      if (chunk.tableIds[index] === statusTable) learn(readable(chunk, index), atMs);
      else if (device) hear(device, atMs, (instantMs) => eventTimeOf(chunk, index) <= instantMs);
    }
  };

  return {
    take(chunk, position) {
      const from = indexFrom(chunk, position);
      if (from > 0 || chunk.tables.includes(DEVICE_STATUS_TABLE)) return takeOneByOne(chunk, from);
      const atMs = offsetMs(chunk.lastOffset);
      for (let deviceId = 0; deviceId < chunk.devices.length; deviceId++) {
        const device = chunk.devices[deviceId];
        if (!device) continue;
        const known = devices.get(device);
        // Nearly always.
        if (known?.state === 'online') known.heardMs = Math.max(known.heardMs, atMs);
        else hear(device, atMs, (instantMs) => allBefore(chunk, deviceId, instantMs));
      }
    },
    due(nowMs, listeningSinceMs) {
      const items: DeviceStatusItem[] = [];
      for (const { device, backMs } of back)
        items.push({ device, state: 'online', event_time: backMs!, reason: presenceReasons.online });
      if (nowMs < lookAgainMs) return items;
      lookAgainMs = Number.POSITIVE_INFINITY;
      for (const { device, state, heardMs } of devices.values()) {
        if (state !== 'online') continue;
        const untilMs = Math.max(heardMs, listeningSinceMs) + timeoutMs;
        if (untilMs <= nowMs)
          items.push({ device, state: 'offline', event_time: untilMs, reason: presenceReasons.offline });
        // One that is due stays so until the log says it.
        lookAgainMs = Math.min(lookAgainMs, untilMs);
      }
      return items;
    },
    forget(nowMs) {
      const silent = [...devices.values()]
        .filter(({ state, backMs }) => state !== 'online' && backMs === undefined)
        .sort((a, b) => lastSignMs(a) - lastSignMs(b));
      for (const entry of silent) {
        const isLong = nowMs - lastSignMs(entry) > FORGOTTEN_AFTER_MS;
        if (!isLong && devices.size <= devicesMax * DEVICES_KEPT_SHARE) break;
        devices.delete(entry.device);
      }
      const noRoom = unwatched;
      unwatched = 0;
      return noRoom;
    },
    devices: () => devices.values(),
  };
}

/** When a device was heard or spoken of; one that was only reported has never been heard. */
function lastSignMs({ heardMs, reportedOfflineMs = 0 }: DevicePresence): UtcMs {
  return Math.max(heardMs, reportedOfflineMs);
}

function allBefore(chunk: Chunk, deviceId: number, instantMs: UtcMs): boolean {
  for (let index = 0; index < chunk.count; index++)
    if (chunk.deviceIds[index] === deviceId && eventTimeOf(chunk, index) > instantMs) return false;
  return true;
}

/** When it was measured; where that cannot be read, not before anything. */
function eventTimeOf(chunk: Chunk, index: number): UtcMs {
  const { event_time: eventTimeMs } = readable(chunk, index) ?? {};
  return typeof eventTimeMs === 'number' ? eventTimeMs : Number.POSITIVE_INFINITY;
}

/** A message that is no CBOR of ours tells nothing but that its device is there, and stops nobody else. */
function readable(chunk: Chunk, index: number): StoredMessage | undefined {
  try {
    return storedMessage(chunk, index);
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
