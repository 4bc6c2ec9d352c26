import type { LocalDay } from '../words/local-days.ts';
import type { DayDetails, DeviceStatuses } from './answers.ts';
import { deviceKind, type KindOfDevice } from './device-kind.ts';
import { deviceName } from './series.ts';

export type DeviceFilter = 'all' | KindOfDevice;

export interface DeviceRow {
  id: string;
  name: string;
  status: DeviceStatuses[string];
  kind: KindOfDevice;
}

const order: readonly KindOfDevice[] = ['offline', 'silent', 'unknown', 'heard', 'asleep', 'online'];

/** All devices, those that need a look first. */
export function deviceRows(statuses: DeviceStatuses, nowMs = Date.now()): DeviceRow[] {
  return Object.entries(statuses)
    .map(([id, status]) => ({ id, name: deviceName(id, statuses), status, kind: deviceKind(status, nowMs) }))
    .sort(
      (a, b) =>
        order.indexOf(a.kind) - order.indexOf(b.kind) ||
        a.name.localeCompare(b.name, undefined, { numeric: true }),
    );
}

export function countKinds(
  rows: ReadonlyArray<{ kind: KindOfDevice }>,
): Readonly<Record<DeviceFilter, number>> {
  const count = (kind: KindOfDevice) => rows.filter((row) => row.kind === kind).length;
  return {
    all: rows.length,
    offline: count('offline'),
    silent: count('silent'),
    unknown: count('unknown'),
    heard: count('heard'),
    asleep: count('asleep'),
    online: count('online'),
  };
}

/**
 * The Wh of a device on each day: null for a day without data.
 * @returns undefined where nothing is expected: before the first data in this time, and for a last day that
 *   has only begun
 */
export function energyOfDays(
  details: DayDetails,
  device: string,
  days: readonly LocalDay[],
): Array<number | null | undefined> {
  const known = days.map((day) => details[day]?.[device]?.energyWh ?? null);
  const first = known.findIndex((wh) => wh !== null);
  return known.map((wh, index) =>
    first < 0 || index < first || (wh === null && index === days.length - 1) ? undefined : wh,
  );
}
