import { MalformedError } from '../../cbor/malformed-error.ts';
import { DEVICE_STATUS_TABLE, type DeviceStatusItem } from '../../contract/messages.ts';
import { type Offset, offsetMs } from '../../contract/offset.ts';
import { serviceLimits } from '../../contract/service-limits.ts';
import { DAY_MS, type UtcMs } from '../../lib/time.ts';
import { type Chunk, indexFrom } from '../log/chunk.ts';
import { type StoredMessage, storedMessage } from '../log/stored-messages.ts';

/** The reasons of states that the service itself finds. */
const presenceReasons = { offline: 'timeout', online: 'data received' } as const;

/** The state of a device, in store times. */
export interface DevicePresence {
  device: string;
  /** The last state in the log; undefined if the log has none. */
  state: DeviceStatusItem['state'] | undefined;
  /** The store time of its last data. */
  heardMs: UtcMs;
  /**
   * The time of the last offline report, by the reporter's clock. Older data does not bring the device back.
   */
  reportedOfflineMs: UtcMs | undefined;
  /** The time of the first data since the device went offline, until that is announced. */
  returnedMs: UtcMs | undefined;
}

/**
 * The presence of devices, derived from the log. Data shows that a device is alive. Device status messages
 * set its state, also messages of other senders. The same log always gives the same presence.
 */
interface Presence {
  /**
   * Applies the messages of a chunk from a position on. If no message is a device status, it only reads the
   * list of devices.
   */
  take(chunk: Chunk, position: Offset): void;
  /**
   * The transitions that are not in the log yet: offline devices that sent data, and online devices that are
   * silent.
   * @param listeningSinceMs silence counts from here, because the service received nothing before
   */
  due(nowMs: UtcMs, listeningSinceMs: UtcMs): DeviceStatusItem[];
  /**
   * Forgets devices that have been offline for a long time. If there is little room, it also forgets other
   * devices that are not online, first the one with the oldest data. A forgotten device that sends data is
   * announced like a new one.
   * @returns the number of new devices without room since the last call
   */
  forget(nowMs: UtcMs): number;
  devices(): Iterable<DevicePresence>;
}

/** An offline device is forgotten after this much silence. */
const FORGOTTEN_AFTER_MS = 7 * DAY_MS;
/**
 * If the devices take more than this share of the room, offline devices are forgotten. Online devices are
 * never forgotten.
 */
const DEVICES_KEPT_SHARE = 0.9;

export function createPresence(
  timeoutMs: number,
  known: Iterable<DevicePresence> = [],
  devicesMax: number = serviceLimits.watchedDevicesPerWorkgroup,
): Presence {
  const devices = new Map<string, DevicePresence>();
  /** Devices that sent data again, until that is announced. */
  const returned = new Set<DevicePresence>();
  /** No device is due before this instant. */
  let lookAgainMs = Number.NEGATIVE_INFINITY;
  for (const presence of known) {
    devices.set(presence.device, presence);
    if (presence.returnedMs !== undefined) returned.add(presence);
  }

  let unwatched = 0;
  const entryOf = (device: string): DevicePresence | undefined => {
    let entry = devices.get(device);
    if (entry === undefined) {
      if (devices.size >= devicesMax) {
        unwatched++;
        return undefined;
      }
      entry = { device, state: undefined, heardMs: 0, reportedOfflineMs: undefined, returnedMs: undefined };
      devices.set(device, entry);
    }
    return entry;
  };

  const setReturned = (entry: DevicePresence, returnedMs: UtcMs | undefined) => {
    entry.returnedMs = returnedMs;
    if (returnedMs === undefined) returned.delete(entry);
    else returned.add(entry);
  };

  /** @param isBefore true if all of the data was measured before an instant */
  const hear = (device: string, atMs: UtcMs, isBefore: (instantMs: UtcMs) => boolean) => {
    const entry = entryOf(device);
    if (entry === undefined) return;
    if (atMs > entry.heardMs) entry.heardMs = atMs;
    if (entry.state === 'online' || entry.returnedMs !== undefined) return;
    if (entry.reportedOfflineMs !== undefined && isBefore(entry.reportedOfflineMs)) return;
    setReturned(entry, atMs);
  };

  const learn = (message: StoredMessage | undefined, atMs: UtcMs) => {
    if (message === undefined) return;
    const { device, state, reason, event_time: eventTimeMs } = message;
    if (typeof device !== 'string' || (state !== 'online' && state !== 'offline')) return;
    const entry = entryOf(device);
    if (entry === undefined) return;
    entry.state = state;
    entry.reportedOfflineMs = undefined;
    setReturned(entry, undefined);
    if (state === 'online') {
      // States that the service itself announced do not show that the device is alive.
      if (reason !== presenceReasons.online && atMs > entry.heardMs) entry.heardMs = atMs;
      lookAgainMs = Math.min(lookAgainMs, entry.heardMs + timeoutMs);
    } else if (reason !== presenceReasons.offline) entry.reportedOfflineMs = Number(eventTimeMs);
    // The device sent data while its silence was being announced. So it is announced as online next.
    else if (atMs - entry.heardMs < timeoutMs) setReturned(entry, entry.heardMs);
  };

  /** Applies messages in order, because a chunk may contain both data and a report of one device. */
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
        // This is the usual case.
        if (known?.state === 'online') known.heardMs = Math.max(known.heardMs, atMs);
        else hear(device, atMs, (instantMs) => allBefore(chunk, deviceId, instantMs));
      }
    },
    due(nowMs, listeningSinceMs) {
      const items: DeviceStatusItem[] = [];
      for (const { device, returnedMs } of returned)
        items.push({ device, state: 'online', event_time: returnedMs!, reason: presenceReasons.online });
      if (nowMs < lookAgainMs) return items;
      lookAgainMs = Number.POSITIVE_INFINITY;
      for (const { device, state, heardMs } of devices.values()) {
        if (state !== 'online') continue;
        const untilMs = Math.max(heardMs, listeningSinceMs) + timeoutMs;
        if (untilMs <= nowMs)
          items.push({ device, state: 'offline', event_time: untilMs, reason: presenceReasons.offline });
        // A due transition stays due until the log has it.
        lookAgainMs = Math.min(lookAgainMs, untilMs);
      }
      return items;
    },
    forget(nowMs) {
      const silent = [...devices.values()]
        .filter(({ state, returnedMs }) => state !== 'online' && returnedMs === undefined)
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

/** The last time at which a device sent data or was reported. */
function lastSignMs({ heardMs, reportedOfflineMs = 0 }: DevicePresence): UtcMs {
  return Math.max(heardMs, reportedOfflineMs);
}

function allBefore(chunk: Chunk, deviceId: number, instantMs: UtcMs): boolean {
  for (let index = 0; index < chunk.count; index++)
    if (chunk.deviceIds[index] === deviceId && eventTimeOf(chunk, index) > instantMs) return false;
  return true;
}

/** The time of measurement. If it cannot be read, it counts as later than every other time. */
function eventTimeOf(chunk: Chunk, index: number): UtcMs {
  const { event_time: eventTimeMs } = readable(chunk, index) ?? {};
  return typeof eventTimeMs === 'number' ? eventTimeMs : Number.POSITIVE_INFINITY;
}

/** If a message cannot be decoded, it only shows that its device is alive. */
function readable(chunk: Chunk, index: number): StoredMessage | undefined {
  try {
    return storedMessage(chunk, index);
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
