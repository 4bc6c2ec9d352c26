import type { WorkgroupConfig } from '../../config/config.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { formatLocal } from '../../lib/time.ts';
import type { DayChange } from '../../report/day-changes.ts';
import { versionCauses } from '../../rollup/version-causes.ts';
import { formatTable } from '../terminal/format-table.ts';

/** More rows are only printed with --json. */
const ROWS_MAX = 500;

/** One row for each day, device and source, and the total. */
export function describeChanges(
  changes: readonly DayChange[],
  totals: { days: number; beforeWh: number; afterWh: number; differenceWh: number },
  { devices, timezone }: Pick<WorkgroupConfig, 'devices' | 'timezone'>,
): string {
  if (changes.length === 0) return 'no closed day has changed\n';
  const names = new Map(devices.map(({ id, name }) => [id, name]));
  const table = formatTable<DayChange>(
    [
      { title: 'Day', value: ({ day }) => day },
      { title: 'Device', value: ({ device }) => names.get(device) ?? device },
      { title: 'Source', value: ({ source }) => source },
      { title: 'Before Wh', value: ({ before }) => energyText(before?.energyWh), align: 'right' },
      { title: 'After Wh', value: ({ after }) => energyText(after.energyWh), align: 'right' },
      { title: 'Change', value: ({ differenceWh }) => signed(differenceWh), align: 'right' },
      { title: 'Status', value: ({ kind }) => kind },
      { title: 'Version', value: ({ before, after }) => versionText(before?.version, after.version) },
      { title: 'When', value: ({ changedAt }) => formatLocal(Date.parse(changedAt), timezone).slice(0, 19) },
      {
        title: 'Why',
        value: ({ causes }) => causes.map((cause) => versionCauses[cause]).join(', ') || 'not known',
      },
      { title: 'Batch', value: ({ batch }) => batch },
      { title: 'Other changes', value: otherChanges },
    ],
    changes.slice(0, ROWS_MAX),
  );
  const rest = changes.length - ROWS_MAX;
  const more = rest > 0 ? `... and ${rest} more; --json prints all\n` : '';
  const { days, beforeWh, afterWh, differenceWh } = totals;
  return `${table}${more}${formatCountOf(days, 'day')}: ${beforeWh} Wh before, ${afterWh} Wh after, ${signed(differenceWh)} Wh\n`;
}

/** Changes of other values than energy. */
function otherChanges({ before, after }: DayChange): string {
  if (!before || after.energyWh === null) return after.flags.map((flag) => `+${flag}`).join(' ');
  const method = before.method === after.method ? [] : [`${before.method} -> ${after.method}`];
  const came = after.flags.filter((flag) => !before.flags.includes(flag)).map((flag) => `+${flag}`);
  const went = before.flags.filter((flag) => !after.flags.includes(flag)).map((flag) => `-${flag}`);
  return [...method, ...came, ...went].join(' ');
}

const energyText = (value: number | null | undefined) =>
  value === null || value === undefined ? '-' : `${value}`;
const signed = (value: number) => (value > 0 ? `+${value}` : `${value}`);
const versionText = (before: number | undefined, after: number) =>
  before === undefined ? `${after}` : `${before} -> ${after}`;
