import type { WorkgroupConfig } from '../../config/config.ts';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import type { CorrectOutcome } from '../../correction/store-correction.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { formatLocal } from '../../lib/time.ts';
import { type Column, formatTable } from '../terminal/format-table.ts';

type Named = Pick<WorkgroupConfig, 'devices' | 'timezone'>;

/** The stored correction, and the days that it changed. */
export function describeCorrectionOutcome(
  { outcome, correction }: CorrectOutcome,
  workgroup: Named,
  columnsMax: number,
): string {
  return `${headline(outcome, correction, workgroup)}\n${describeDays(correction, workgroup, columnsMax)}`;
}

function headline(
  outcome: CorrectOutcome['outcome'],
  correction: ListedCorrection,
  workgroup: Named,
): string {
  const what = describeWhat(correction, workgroup);
  switch (outcome) {
    case 'stored':
      return `correction ${correction.id} is stored: ${what}`;
    case 'stored-before':
      return `correction ${correction.id} was already stored with this key, nothing changed: ${what}`;
    case 'checked':
      return `nothing is stored; the correction would be: ${what}`;
    default:
      return outcome satisfies never;
  }
}

function describeWhat(correction: ListedCorrection, { timezone }: Named): string {
  const { kind, from, to, day, energyWh, undoes, table, field, basis } = correction;
  const at = (time: string) => formatLocal(Date.parse(time), timezone).slice(0, 16);
  const when = `from ${at(from)} to ${at(to)}`;
  switch (kind) {
    case 'exclude': {
      const of = [table, field].filter((name) => name !== null).join('.');
      return `readings ${of && `of ${of} `}${when} are excluded`;
    }
    case 'set':
      return `${energyWh} Wh ${when}`;
    case 'set_day':
      return `${energyWh} Wh on ${day}`;
    case 'fill':
      return `${energyWh} Wh are estimated ${when}, ${basisOf(basis)}`;
    case 'undo':
      return `correction ${undoes} is undone`;
    default:
      return kind satisfies never;
  }
}

function basisOf(basis: ListedCorrection['basis']): string {
  if (basis === null) return '';
  if (basis.from === 'other_source')
    return `as ${basis.source} of ${basis.device} times ${Number(basis.ratio.toPrecision(6))}, from ${formatCountOf(basis.days, 'day')}`;
  return `as the median of ${[...new Set(Object.values(basis.days).flat())].sort().join(', ')}`;
}

function describeDays({ days, dayCount }: ListedCorrection, workgroup: Named, columnsMax: number): string {
  if (days.length === 0) return 'no day changes\n';
  const names = namesOf(workgroup);
  const table = formatTable<ListedCorrection['days'][number]>(
    [
      { title: 'Day', value: ({ day }) => day },
      { title: 'Device', value: ({ device }) => names.get(device) ?? device },
      { title: 'Source', value: ({ source }) => source },
      { title: 'Before Wh', value: ({ beforeWh }) => wh(beforeWh), align: 'right' },
      { title: 'After Wh', value: ({ afterWh }) => wh(afterWh), align: 'right' },
      { title: 'Change', value: ({ beforeWh, afterWh }) => difference(beforeWh, afterWh), align: 'right' },
    ],
    days,
    columnsMax,
  );
  return dayCount > days.length
    ? `${table}... and ${formatCountOf(dayCount - days.length, 'more day')}\n`
    : table;
}

/** More rows are only printed with --json. */
const ROWS_MAX = 500;

export function describeCorrections(
  corrections: readonly ListedCorrection[],
  workgroup: Named,
  columnsMax: number,
): string {
  if (corrections.length === 0) return 'no corrections\n';
  const names = namesOf(workgroup);
  const columns: Array<Column<ListedCorrection>> = [
    { title: 'Id', value: ({ id }) => String(id), align: 'right' },
    { title: 'When', value: ({ at }) => formatLocal(Date.parse(at), workgroup.timezone).slice(0, 16) },
    { title: 'Device', value: ({ device }) => names.get(device) ?? device },
    { title: 'Source', value: ({ source }) => source },
    { title: 'What', value: (one) => describeWhat(one, workgroup) },
    { title: 'Days', value: ({ dayCount }) => String(dayCount), align: 'right' },
    { title: 'State', value: stateOf },
    { title: 'Who', value: ({ author }) => author },
    { title: 'Why', value: ({ reason }) => reason },
  ];
  const more = corrections.length - ROWS_MAX;
  const table = formatTable(columns, corrections.slice(0, ROWS_MAX), columnsMax);
  return more > 0 ? `${table}... and ${more} more; --json prints all\n` : table;
}

function stateOf({ kind, undoneBy }: ListedCorrection): string {
  if (kind === 'undo') return '';
  return undoneBy === null ? 'in force' : `undone by ${undoneBy}`;
}

function namesOf({ devices }: Named): Map<string, string> {
  return new Map(devices.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name]])));
}

const wh = (value: number | null) => (value === null ? '-' : String(value));

function difference(before: number | null, after: number | null): string {
  const change = (after ?? 0) - (before ?? 0);
  return change > 0 ? `+${change}` : String(change);
}
