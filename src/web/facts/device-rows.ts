import type { LocalDay } from '../words/local-days.ts';
import type { DayDetails, DeviceStatuses } from './answers.ts';
import { isSilent } from './attention.ts';
import { deviceName } from './series.ts';

export type DeviceFilter = 'all' | 'silent' | 'online' | 'asleep' | 'unknown';

export interface DeviceRow {
  id: string;
  name: string;
  status: DeviceStatuses[string];
  kind: Exclude<DeviceFilter, 'all'>;
}

const order: ReadonlyArray<DeviceRow['kind']> = ['silent', 'unknown', 'asleep', 'online'];

/** All devices, those that need a look first. */
export function deviceRows(statuses: DeviceStatuses): DeviceRow[] {
  return Object.entries(statuses)
    .map(([id, status]) => ({ id, name: deviceName(id, statuses), status, kind: kindOf(status) }))
    .sort(
      (a, b) =>
        order.indexOf(a.kind) - order.indexOf(b.kind) ||
        a.name.localeCompare(b.name, undefined, { numeric: true }),
    );
}

function kindOf(status: DeviceStatuses[string]): DeviceRow['kind'] {
  if (status.state !== 'offline') return status.state;
  return isSilent(status) ? 'silent' : 'asleep';
}

export function countKinds(rows: readonly DeviceRow[]): Readonly<Record<DeviceFilter, number>> {
  const count = (kind: DeviceRow['kind']) => rows.filter((row) => row.kind === kind).length;
  return {
    all: rows.length,
    silent: count('silent'),
    online: count('online'),
    asleep: count('asleep'),
    unknown: count('unknown'),
  };
}

/**
 * The Wh of a device on each day: null for a day without data.
 * @returns undefined where nothing is expected: before the first data in this time, and for a last day that has only begun
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
