import type { MeterConfig } from '../config/meters.ts';
import { createInstantReader } from '../foreign-table/instant-reader.ts';
import { clipText } from '../lib/clip-text.ts';
import { DAY_MS, formatInstant } from '../lib/time.ts';
import type { Columns, FoundColumn } from './find-columns.ts';
import { type CellReader, energyReader, meterReader, type TableContext } from './read-cells.ts';
import { type MeterRow, type Quality, qualities, type Upload } from './upload-rows.ts';
import type { TableRow } from './upload-table.ts';

/** More than a yearly bill. */
const INTERVAL_DAYS_MAX = 400;

export function isMeterHeader({ start, end, time, energy, value }: Columns): boolean {
  return (
    (energy !== undefined && (start !== undefined || end !== undefined)) ||
    (value !== undefined && time !== undefined)
  );
}

/** Reads intervals with their energy, or values of registers with their time, depending on the columns. */
export function readMeterRows(context: TableContext): Upload {
  const { columns, refusals } = context;
  const { start, end, time, energy, value } = columns;
  const isRegister = value !== undefined && time !== undefined;
  if (isRegister && energy && (start || end))
    refusals.add(
      0,
      undefined,
      'has both energy of intervals and values of a register; remove the columns of one of them',
    );
  if (isRegister) return { kind: 'meter_registers', rows: readRegisters(context, value, time) };
  if (!energy) {
    const what = value && !time ? '"time" beside it, if it is a register, or ' : '';
    refusals.add(
      0,
      'energy',
      `is missing: ${what}such as energy_kwh; name another column (option --column energy=<name> of the command). The columns are ${listed(context)}`,
    );
  } else if (!start && !end) {
    refusals.add(
      0,
      'interval_start',
      `is missing, and interval_end too; name others (options --column start=<name> and --column end=<name> of the command). The columns are ${listed(context)}`,
    );
  } else return { kind: 'meter_intervals', rows: readIntervals(context, energy) };
  return { kind: 'meter_intervals', rows: [] };
}

function listed({ table }: TableContext): string {
  return clipText(table.columns.map((name) => `"${name}"`).join(', ')) || 'none';
}

function readIntervals(context: TableContext, energy: FoundColumn): MeterRow[] {
  const { columns, options, refusals } = context;
  const { start, end } = columns;
  if (!start !== !end && options.interval === undefined) {
    const [missing, given] = start ? ['interval_end', start] : ['interval_start', end!];
    refusals.add(
      0,
      missing,
      `is missing beside "${given.name}": add it, or give the length of the intervals with --interval 15m`,
    );
    return [];
  }
  const startOf = start && timeReader(context, start);
  const endOf = end && timeReader(context, end);
  const rest = restReader(context, energy);
  const rows: MeterRow[] = [];
  for (const row of context.table.rows) {
    const from = startOf?.(row);
    const to = endOf?.(row);
    const common = rest(row);
    const startMs = startOf ? from : to && to - options.interval!;
    const endMs = endOf ? to : from && from + options.interval!;
    if (startMs === undefined || endMs === undefined) continue;
    if (endMs <= startMs)
      refusals.add(
        row.line,
        (end ?? start)!.name,
        `the interval ends (${formatInstant(endMs)}) before it starts (${formatInstant(startMs)}); correct one of them`,
      );
    else if (endMs - startMs > INTERVAL_DAYS_MAX * DAY_MS)
      refusals.add(
        row.line,
        (end ?? start)!.name,
        `the interval is longer than ${INTERVAL_DAYS_MAX} days; check its start and its end`,
      );
    else if (common) rows.push({ line: row.line, start: startMs, end: endMs, ...common });
  }
  refuseOverlaps(rows, energy.name, context);
  return rows;
}

function readRegisters(context: TableContext, value: FoundColumn, time: FoundColumn): MeterRow[] {
  const timeOf = timeReader(context, time);
  const rest = restReader(context, value);
  const rows: MeterRow[] = [];
  for (const row of context.table.rows) {
    const at = timeOf(row);
    const common = rest(row);
    if (at !== undefined && common) rows.push({ line: row.line, start: at, end: at, ...common });
  }
  refuseOverlaps(rows, time.name, context);
  return rows;
}

function timeReader(
  { columns, options, refusals, table }: TableContext,
  column: FoundColumn,
): CellReader<number> {
  const { meter } = columns;
  const cellOf = ({ cells }: TableRow) => ({
    text: cells[column.index]!,
    series: meter ? cells[meter.index]! : '',
  });
  const read = createInstantReader(
    { zone: options.timezone, toSetZone: 'name the zone with --timezone' },
    table.rows.map(cellOf),
  );
  return (row) => {
    const { line } = row;
    const cell = cellOf(row);
    const result = read(cell);
    if (result.kind === 'instant') return result.ms;
    refusals.add(line, column.name, cell.text === '' ? 'is empty' : result.message);
    return undefined;
  };
}

function restReader(
  context: TableContext,
  amount: FoundColumn,
): (row: TableRow) => Pick<MeterRow, 'meter' | 'energyWh' | 'direction' | 'quality'> | undefined {
  const meterOf = meterReader(context, objection);
  const energyOf = energyReader(context, amount);
  const qualityOf = qualityReader(context);
  return (row) => {
    const meter = meterOf(row);
    const energyWh = energyOf(row);
    const quality = qualityOf(row);
    if (meter === undefined || energyWh === undefined || quality === undefined) return undefined;
    const { code, multiplier, direction = null } = meter;
    return { meter: code, energyWh: energyWh * multiplier, direction, quality };
  };
}

function objection({ code, device }: MeterConfig): string | undefined {
  return device === undefined
    ? undefined
    : `the readings of ${code} come from device ${device}; to upload readings, remove the device from the configuration of the meter`;
}

function qualityReader({ columns, refusals }: TableContext): CellReader<Quality> {
  const { quality: column } = columns;
  if (!column) return () => 'measured';
  return ({ line, cells }) => {
    const text = cells[column.index]!.toLowerCase();
    const known = text === '' ? 'measured' : qualities.find((quality) => quality === text);
    if (!known)
      refusals.add(
        line,
        column.name,
        `"${clipText(text)}" is not a quality; use one of ${qualities.join(', ')}`,
      );
    return known;
  };
}

/** Refuses rows with the same time, because their energy would count twice. */
function refuseOverlaps(rows: readonly MeterRow[], column: string, { refusals }: TableContext): void {
  for (const meterRows of Map.groupBy(rows, ({ meter }) => meter).values()) {
    let before: MeterRow | undefined;
    for (const row of meterRows.toSorted((a, b) => a.start - b.start || a.line - b.line)) {
      const isSame = before && row.start === before.start && row.end === before.end;
      if (before && (isSame || row.start < before.end)) {
        const [earlier, later] = before.line < row.line ? [before, row] : [row, before];
        const what =
          row.start === row.end
            ? 'the same time of the same meter as'
            : isSame
              ? 'the same interval of the same meter as'
              : 'overlaps the interval of';
        refusals.add(later.line, column, `${what} line ${earlier.line}; leave one of them out`);
      }
      if (!before || row.end >= before.end) before = row;
    }
  }
}
