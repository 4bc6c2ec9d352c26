import { dayMs } from '../words/time-units.ts';
import type { DeviceStatuses } from './answers.ts';

/**
 * How a device is, for people.
 * - `offline`: it was announced as offline, and that is a fault
 * - `silent`: it has sent nothing for a day, and was not announced as offline, or only as asleep
 * - `unknown`: it has never sent anything
 * - `heard`: it sends data, and was never announced as online or offline
 * - `asleep`: it said that it goes to sleep, which is not a fault
 */
export type KindOfDevice = 'offline' | 'silent' | 'unknown' | 'heard' | 'asleep' | 'online';

/** A device is silent after this time without data. The service has the same time in `ASLEEP_MS_MAX`. */
const SILENT_MS = dayMs;

/**
 * The kind of a device. It follows the announced state if that can still be true. The service announces
 * silent devices only with `stream.deviceTimeout` and only for its own stream. So an old "online" or "asleep"
 * may be wrong.
 */
export function deviceKind(
  { state, reason, since, lastSeen }: Omit<DeviceStatuses[string], 'name'>,
  nowMs = Date.now(),
): KindOfDevice {
  const saidAsleep = reason === 'asleep';
  if (state === 'offline' && !saidAsleep) return 'offline';
  // The announcement of sleep is a message too. It may be the only message of the device.
  const heardAt = lastSeen ?? (saidAsleep ? since : null);
  if (heardAt !== null && nowMs - Date.parse(heardAt) > SILENT_MS) return 'silent';
  if (state === 'offline') return 'asleep';
  if (state === 'online') return 'online';
  return lastSeen === null ? 'unknown' : 'heard';
}
