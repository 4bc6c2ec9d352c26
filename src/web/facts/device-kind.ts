import { dayMs } from '../words/time-units.ts';
import type { DeviceStatuses } from './answers.ts';

/**
 * How a device is, for people.
 * - `offline`: it was announced as offline, and that is a fault
 * - `silent`: it has sent nothing for a day, and was not announced as offline, or only as asleep
 * - `unknown`: it has never sent anything
 * - `heard`: it sends data, and nobody says whether it is online
 * - `asleep`: it said that it goes to sleep, which is not a fault
 */
export type KindOfDevice = 'offline' | 'silent' | 'unknown' | 'heard' | 'asleep' | 'online';

/** A device is silent after this time without data. The service has the same time in `ASLEEP_MS_MAX`. */
const SILENT_MS = dayMs;

/**
 * The state that was announced, if it can still be true. The service announces silence only with
 * `stream.deviceTimeout` and for its own stream, so an old "online" or "asleep" says nothing.
 */
export function deviceKind(
  { state, reason, since, lastSeen }: Omit<DeviceStatuses[string], 'name'>,
  nowMs = Date.now(),
): KindOfDevice {
  const saidAsleep = reason === 'asleep';
  if (state === 'offline' && !saidAsleep) return 'offline';
  // Going to sleep is a message too, perhaps the only one.
  const heardAt = lastSeen ?? (saidAsleep ? since : null);
  if (heardAt !== null && nowMs - Date.parse(heardAt) > SILENT_MS) return 'silent';
  if (state === 'offline') return 'asleep';
  if (state === 'online') return 'online';
  return lastSeen === null ? 'unknown' : 'heard';
}
