import { basename } from 'node:path';
import type { WorkgroupConfig } from '../../config/config.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatInstant, formatLocal } from '../../lib/time.ts';
import type { BudgetSummary, MeterSummary } from '../../upload/list-uploads.ts';
import type { BudgetRow, MeterRow, Upload } from '../../upload/upload-rows.ts';
import { formatTable } from '../terminal/format-table.ts';
import type { PutFile } from './upload-run.ts';

/** kWh with three decimals. */
const kwh = (energyWh: number | null) =>
  energyWh === null ? '-' : (energyWh / 1000).toLocaleString('en', { maximumFractionDigits: 3 });

export function describePut(files: readonly PutFile[]): string {
  return files.map(({ path, outcome }) => `${basename(path)}: ${describeOutcome(outcome)}\n`).join('');
}

function describeOutcome(outcome: PutFile['outcome']): string {
  switch (outcome.kind) {
    case 'stored': {
      const unchanged = outcome.unchanged > 0 ? `, ${formatCount(outcome.unchanged)} known already` : '';
      const replaced =
        outcome.replaced > 0 ? `, ${formatCountOf(outcome.replaced, 'earlier one')} replaced` : '';
      return `${formatCountOf(outcome.stored, 'row')} stored${unchanged}${replaced}, revision ${outcome.revision}`;
    }
    case 'stored-before':
      return `nothing to do, the same rows were already uploaded at ${formatInstant(outcome.receivedAtMs)} (--again lets them count again)`;
    default:
      return outcome satisfies never;
  }
}

/** The result of a dry run: the energy and the period of each meter (and scenario). */
export function describeChecked(
  files: ReadonlyArray<{ path: string; upload: Upload }>,
  zone: string,
): string {
  return files
    .map(({ path, upload }) => {
      const [one, many] = {
        meter_intervals: ['interval', 'intervals'],
        meter_registers: ['value of registers', 'values of registers'],
        budget: ['period', 'periods'],
      }[upload.kind] as [string, string];
      const head = `${basename(path)}: ${formatCountOf(upload.rows.length, one, many)}, no problems\n`;
      return (
        head +
        (upload.kind === 'budget' ? budgetTable(upload.rows) : meterTable(upload.rows, upload.kind, zone))
      );
    })
    .join('\n');
}

function budgetTable(rows: readonly BudgetRow[]): string {
  const groups = [...Map.groupBy(rows, ({ meter, scenario }) => `${meter}\n${scenario}`).values()];
  return formatTable(
    [
      { title: 'Meter', value: ([first]) => first!.meter },
      { title: 'Scenario', value: ([first]) => first!.scenario },
      { title: 'Periods', value: (group) => formatCount(group.length), align: 'right' },
      { title: 'First day', value: (group) => group.map(({ start }) => start).sort()[0]! },
      {
        title: 'Last day',
        value: (group) =>
          group
            .map(({ end }) => end)
            .sort()
            .at(-1)!,
      },
      {
        title: 'kWh',
        value: (group) => kwh(group.reduce((sum, { energyWh }) => sum + energyWh, 0)),
        align: 'right',
      },
    ],
    groups,
  );
}

function meterTable(rows: readonly MeterRow[], kind: Upload['kind'], zone: string): string {
  const groups = [...Map.groupBy(rows, ({ meter }) => meter).values()].map((group) =>
    group.toSorted((one, other) => one.start - other.start),
  );
  return formatTable(
    [
      { title: 'Meter', value: ([first]) => first!.meter },
      { title: 'Rows', value: (group) => formatCount(group.length), align: 'right' },
      { title: 'From', value: ([first]) => formatLocal(first!.start, zone) },
      { title: 'To', value: (group) => formatLocal(group.at(-1)!.end, zone) },
      {
        title: kind === 'meter_registers' ? 'kWh grown' : 'kWh',
        value: (group) =>
          kwh(
            kind === 'meter_registers'
              ? group.at(-1)!.energyWh - group[0]!.energyWh
              : group.reduce((sum, { energyWh }) => sum + energyWh, 0),
          ),
        align: 'right',
      },
    ],
    groups,
  );
}

export function describeBudgets(budgets: readonly BudgetSummary[], columnsMax: number): string {
  if (budgets.length === 0) return 'no budget was uploaded yet; see "wattline help budget put"\n';
  return formatTable(
    [
      { title: 'Meter', value: ({ meter }) => meter },
      { title: 'Scenario', value: ({ scenario }) => scenario },
      { title: 'By', value: ({ period }) => period },
      { title: 'Periods', value: ({ periods }) => formatCount(periods), align: 'right' },
      { title: 'First day', value: ({ firstDay }) => firstDay },
      { title: 'Last day', value: ({ lastDay }) => lastDay },
      { title: 'kWh', value: ({ energyWh }) => kwh(energyWh), align: 'right' },
      { title: 'Revision', value: ({ revision }) => String(revision), align: 'right' },
      { title: 'Uploaded', value: ({ uploadedAtMs }) => formatInstant(uploadedAtMs) },
    ],
    budgets,
    columnsMax,
  );
}

/** @param workgroup meters with a device are listed too */
export function describeMeters(
  meters: readonly MeterSummary[],
  { meters: configured, timezone }: Pick<WorkgroupConfig, 'meters' | 'timezone'>,
  columnsMax: number,
): string {
  const derived = configured.filter(({ device }) => device !== undefined);
  const lines = derived.map(
    ({ code, device, source }) =>
      `${code}: measured by device ${device}${source === undefined ? '' : `, source ${source}`}\n`,
  );
  if (meters.length === 0)
    return `${lines.join('')}no readings were uploaded yet; see "wattline help meter-data put"\n`;
  const table = formatTable(
    [
      { title: 'Meter', value: ({ meter }) => meter },
      { title: 'By', value: ({ fromRegister }) => (fromRegister ? 'register' : 'intervals') },
      { title: 'Intervals', value: ({ readings }) => formatCount(readings), align: 'right' },
      { title: 'From', value: ({ firstMs }) => formatLocal(firstMs, timezone) },
      { title: 'To', value: ({ lastMs }) => formatLocal(lastMs, timezone) },
      { title: 'kWh', value: ({ energyWh }) => kwh(energyWh), align: 'right' },
      { title: 'Faults', value: ({ faults }) => String(faults), align: 'right' },
      { title: 'Revision', value: ({ revision }) => String(revision), align: 'right' },
      { title: 'Uploaded', value: ({ uploadedAtMs }) => formatInstant(uploadedAtMs) },
    ],
    meters,
    columnsMax,
  );
  return table + (lines.length > 0 ? `\n${lines.join('')}` : '');
}
