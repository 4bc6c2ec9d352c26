import { budgetScenarios } from '../config/meters.ts';
import { isKnownDate } from '../foreign-table/instant-reader.ts';
import { clipText } from '../lib/clip-text.ts';
import { daysBetween, firstDayOfMonth, type LocalDate, lastDayOfMonth } from '../lib/time.ts';
import type { Columns, FoundColumn } from './find-columns.ts';
import { type CellReader, energyReader, meterReader, type TableContext } from './read-cells.ts';
import { type BudgetRow, scenarioSchema, type Upload } from './upload-rows.ts';
import type { TableRow } from './upload-table.ts';

interface BudgetPeriod {
  start: LocalDate;
  end: LocalDate;
}

/** Periods of one kind do not overlap. A month can lie within a year. */
export type Granularity = 'year' | 'month' | 'day' | 'other';

const PERIOD_DAYS_MAX = 3_660;

export function isBudgetHeader({ energy, period, start, end, month, day, year }: Columns): boolean {
  return energy !== undefined && [period, start && end, month, day, year].some((one) => one !== undefined);
}

/** Reads budgets by years, months, days or other periods. Hours are added up to days. */
export function readBudgetRows(context: TableContext): Upload {
  const { columns, options, refusals, table } = context;
  const { energy } = columns;
  const readPeriod = periodReader(context);
  if (!energy) {
    const names = clipText(table.columns.map((name) => `"${name}"`).join(', '));
    refusals.add(
      0,
      'energy',
      `is missing, such as energy_kwh; name another column (option --column energy=<name> of the command). The columns are ${names}`,
    );
  }
  if (!columns.scenario && options.scenario === undefined)
    refusals.add(
      0,
      'scenario',
      'is missing: add the column, or name one for all rows (over HTTP scenario=P50, in a command --scenario P50)',
    );
  const meterOf = meterReader(context, () => undefined);
  if (!energy || !readPeriod) return { kind: 'budget', rows: [] };
  const energyOf = energyReader(context, energy, columns.hour ? 1 : undefined);
  const scenarioOf = scenarioReader(context);
  const rows: Array<BudgetRow & { hour: number | undefined }> = [];
  for (const row of table.rows) {
    if (isTotal(row, context)) continue;
    const period = readPeriod(row);
    const meter = meterOf(row);
    const energyWh = energyOf(row);
    const scenario = scenarioOf(row);
    if (!period || !meter || energyWh === undefined || scenario === undefined) continue;
    rows.push({ line: row.line, meter: meter.code, scenario, energyWh, ...period });
  }
  const periods = columns.hour ? roundRunning(daysOfHours(rows, columns.hour, context)) : rows;
  refuseOverlaps(periods, context);
  return {
    kind: 'budget',
    rows: periods.map(({ line, meter, start, end, scenario, energyWh }) => ({
      line,
      meter,
      start,
      end,
      scenario,
      energyWh: Math.round(energyWh),
    })),
  };
}

/** True for a last line with the total. */
function isTotal({ cells }: TableRow, { columns }: TableContext): boolean {
  const first = columns.period ?? columns.month;
  return first !== undefined && /^(total|sum|summe|annual|year)$/i.test(cells[first.index]!);
}

function scenarioReader({ columns, options, refusals }: TableContext): CellReader<string> {
  const { scenario: column } = columns;
  if (column && options.scenario !== undefined)
    refusals.add(
      0,
      column.name,
      'contains the scenarios; remove the parameter scenario (in a command --scenario)',
    );
  return ({ line, cells }) => {
    const text = column ? cells[column.index]! : options.scenario;
    if (text === undefined) return undefined;
    const known = budgetScenarios.find((scenario) => scenario.toLowerCase() === text.toLowerCase());
    if (known ?? scenarioSchema.safeParse(text).success) return known ?? text;
    refusals.add(
      line,
      column?.name,
      text === ''
        ? 'is empty; write a scenario, such as P50'
        : `"${clipText(text)}" is longer than 64 characters; choose a shorter name`,
    );
    return undefined;
  };
}

type PeriodReader = CellReader<BudgetPeriod & { hour: number | undefined }>;

function periodReader(context: TableContext): PeriodReader | undefined {
  const { columns, options, refusals } = context;
  const { period, start, end, month, year } = columns;
  if (start && end) return boundsReader(context, start, end);
  if (period) return textReader(context, period);
  if (month || year) {
    if (month && !year && options.year === undefined && !hasYears(context, month)) {
      refusals.add(0, month.name, 'has no year: add a column "year", or use --year 2026');
      return undefined;
    }
    return partsReader(context);
  }
  refusals.add(
    0,
    'period',
    'is missing: add the column, with texts such as 2026, 2026-05 or 2026-05-17, or the columns period_start and period_end, or year, month and day',
  );
  return undefined;
}

/** True if months are written as `2026-05`, which need no year. */
function hasYears({ table }: TableContext, { index }: FoundColumn): boolean {
  return table.rows.some(({ cells }) => /^\d{4}-/.test(cells[index]!));
}

function boundsReader({ refusals }: TableContext, start: FoundColumn, end: FoundColumn): PeriodReader {
  return ({ line, cells }) => {
    const days = [start, end].map((column) => {
      const text = cells[column.index]!;
      if (isKnownDate(text)) return text;
      refusals.add(line, column.name, `"${clipText(text)}" is not a day such as 2026-05-17`);
      return undefined;
    });
    const [from, to] = days;
    if (from === undefined || to === undefined) return undefined;
    const length = daysBetween(from, to) + 1;
    if (length > 0 && length <= PERIOD_DAYS_MAX) return { start: from, end: to, hour: undefined };
    refusals.add(
      line,
      end.name,
      length > 0
        ? `the period is longer than ${PERIOD_DAYS_MAX} days; check its start and its end`
        : `the period ends (${to}) before it starts (${from}); correct one of them (the end is its last day)`,
    );
    return undefined;
  };
}

function textReader({ refusals }: TableContext, column: FoundColumn): PeriodReader {
  return ({ line, cells }) => {
    const text = cells[column.index]!;
    const period = parseBudgetPeriod(text);
    if (period) return { ...period, hour: undefined };
    refusals.add(
      line,
      column.name,
      `"${clipText(text)}" is not a period such as 2026, 2026-05 or 2026-05-17`,
    );
    return undefined;
  };
}

/** Reads periods from separate columns of numbers. */
function partsReader({ columns, options, refusals }: TableContext): PeriodReader {
  const { year, month, day, hour } = columns;
  return ({ line, cells }) => {
    const part = (column: FoundColumn | undefined) => (column ? cells[column.index]! : undefined);
    const text = part(month);
    if (month && text !== undefined && parseBudgetPeriod(text) && /^\d{4}-/.test(text))
      return { ...parseBudgetPeriod(text)!, hour: undefined };
    const written = [part(year) ?? String(options.year), text, part(day)]
      .filter((one) => one !== undefined)
      .map((one) => one.padStart(2, '0'))
      .join('-');
    const period = parseBudgetPeriod(written);
    const clock = part(hour);
    if (!period)
      refusals.add(
        line,
        (day ?? month ?? year)!.name,
        `"${clipText(written)}" is not ${day ? 'an existing day' : month ? 'a month' : 'a year'}`,
      );
    else if (clock !== undefined && !(/^\d{1,2}$/.test(clock) && Number(clock) <= 24))
      refusals.add(
        line,
        hour!.name,
        `"${clipText(clock)}" is not an hour; write a number from 0 to 23, or from 1 to 24`,
      );
    else return { ...period, hour: clock === undefined ? undefined : Number(clock) };
    return undefined;
  };
}

/** @returns the days of a year, a month or a day; undefined if the text is none of them */
export function parseBudgetPeriod(text: string): BudgetPeriod | undefined {
  const [, year, month, day] = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$/.exec(text) ?? [];
  const start = `${year}-${month ?? '01'}-${day ?? '01'}`;
  if (!isKnownDate(start)) return undefined;
  if (day !== undefined) return { start, end: start };
  if (month === undefined) return { start, end: `${year}-12-31` };
  return { start, end: lastDayOfMonth(start) };
}

/**
 * The kind of a period in a file. For periods that are stored, the macro `granularity` of
 * sql/upload/05_macros.sql has the same rule.
 */
export function granularityOf({ start, end }: BudgetPeriod): Granularity {
  if (start === end) return 'day';
  if (start === firstDayOfMonth(start) && end === lastDayOfMonth(start)) return 'month';
  return start.endsWith('-01-01') && end === `${start.slice(0, 4)}-12-31` ? 'year' : 'other';
}

/** Adds up the hours of each day. A day must have all of its hours, counted from 0 or from 1. */
function daysOfHours(
  rows: ReadonlyArray<BudgetRow & { hour: number | undefined }>,
  column: FoundColumn,
  { refusals }: TableContext,
): BudgetRow[] {
  const first = rows.some(({ hour }) => hour === 24) ? 1 : 0;
  return [
    ...Map.groupBy(rows, ({ meter, scenario, start }) => `${meter}\n${scenario}\n${start}`).values(),
  ].map((hours) => {
    const seen = new Map<number | undefined, number>();
    for (const { hour, line } of hours) {
      const before = seen.get(hour);
      if (before !== undefined)
        refusals.add(
          line,
          column.name,
          `the same hour of the same day as line ${before}; leave one of them out`,
        );
      seen.set(hour, line);
    }
    const missing = Array.from({ length: 24 }, (_, hour) => hour + first).filter((hour) => !seen.has(hour));
    const [last] = hours.slice(-1);
    if (missing.length > 0)
      refusals.add(
        last!.line,
        column.name,
        `${last!.start} lacks the hours ${missing.join(', ')}; a day is the sum of all of its hours`,
      );
    return { ...hours[0]!, energyWh: hours.reduce((sum, { energyWh }) => sum + energyWh, 0) };
  });
}

/** Rounds days on the running sum of their meter and scenario, so they add up to the sum of all hours. */
function roundRunning(days: readonly BudgetRow[]): BudgetRow[] {
  const ordered = days.toSorted((one, other) => (one.start < other.start ? -1 : 1));
  const sums = new Map<string, number>();
  return ordered.map((day) => {
    const key = `${day.meter}\n${day.scenario}`;
    const before = sums.get(key) ?? 0;
    const after = before + day.energyWh;
    sums.set(key, after);
    return { ...day, energyWh: Math.round(after) - Math.round(before) };
  });
}

/** Each day has one budget among periods of the same kind. */
function refuseOverlaps(rows: readonly BudgetRow[], { columns, refusals }: TableContext): void {
  const column = (columns.period ?? columns.start ?? columns.day ?? columns.month ?? columns.year)?.name;
  for (const alike of Map.groupBy(
    rows,
    (row) => `${row.meter}\n${row.scenario}\n${granularityOf(row)}`,
  ).values()) {
    let before: BudgetRow | undefined;
    for (const row of alike.toSorted((a, b) =>
      a.start < b.start ? -1 : a.start > b.start ? 1 : a.line - b.line,
    )) {
      if (before && row.start <= before.end) {
        const [earlier, later] = before.line < row.line ? [before, row] : [row, before];
        refusals.add(
          later.line,
          column,
          `overlaps the period of line ${earlier.line} (same meter and scenario ${row.scenario}); leave one of them out`,
        );
      }
      if (!before || row.end > before.end) before = row;
    }
  }
}
