import type { WorkgroupConfig } from '../config/config.ts';
import type { DayChange } from './day-changes.ts';
import { listedRows, type ReportRows } from './rows/row-select.ts';

/** Changes of reported days as rows. */
export function changeRows(
  changes: readonly DayChange[],
  { devices }: Pick<WorkgroupConfig, 'devices'>,
): ReportRows {
  const names = new Map(devices.map(({ id, name }) => [id, name]));
  return listedRows(
    {
      columns: [
        ...(['day', 'device', 'device_name', 'source', 'kind', 'before_wh', 'after_wh'] as const),
        ...(['difference_wh', 'method', 'flags', 'status', 'version', 'changed_at', 'causes'] as const),
      ],
      order: ['day', 'device', 'source'],
    },
    changes.map(({ day, device, source, kind, before, after, differenceWh, changedAt, causes }) => ({
      day,
      device,
      device_name: names.get(device) ?? null,
      source,
      kind,
      before_wh: before?.energyWh ?? null,
      after_wh: after.energyWh,
      difference_wh: differenceWh,
      method: after.method,
      flags: after.flags,
      status: after.status,
      version: after.version,
      changed_at: changedAt,
      causes,
    })),
  );
}
