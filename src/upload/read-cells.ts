import type { MeterConfig } from '../config/meters.ts';
import { type Decimal, guessNumberFormat, parseNumber } from '../foreign-table/number-format.ts';
import { clipText } from '../lib/clip-text.ts';
import { parseUnit, unitFactor } from '../lib/units.ts';
import { energyFactor } from './energy-factor.ts';
import type { Columns, FoundColumn } from './find-columns.ts';
import type { Refusals } from './refusals.ts';
import type { UploadOptions } from './upload-options.ts';
import { ENERGY_WH_MAX } from './upload-rows.ts';
import type { TableRow, UploadTable } from './upload-table.ts';

/** The file, the columns and the options that all readers need. */
export interface TableContext {
  table: UploadTable;
  columns: Columns;
  meters: readonly MeterConfig[];
  options: UploadOptions;
  refusals: Refusals;
}

/** Reads one value of a row. @returns undefined if it is wrong. The problem is then in `refusals`. */
export type CellReader<Value> = (row: TableRow) => Value | undefined;

const MILLI = 1e3;

/**
 * Reads an amount of energy, Wh, with three decimals. The unit comes from the column's name, from another
 * column or from the options. If two of them say different units, the value is refused.
 * @param meanHours if the unit may be a unit of power: a value is the mean of this number of hours
 */
export function energyReader(
  { table, columns, options, refusals }: TableContext,
  column: FoundColumn,
  meanHours?: number,
): CellReader<number> {
  const { unit: unitColumn } = columns;
  const chosenUnit = column.unit ?? (unitColumn ? undefined : options.unit);
  if (column.unit !== undefined && options.unit !== undefined && column.unit !== options.unit)
    refusals.add(
      0,
      column.name,
      `is in ${column.unit} by its name, and in ${options.unit} by --unit; remove --unit`,
    );
  else if (unitColumn && options.unit !== undefined)
    refusals.add(0, unitColumn.name, 'contains the units; remove --unit');
  if (chosenUnit === undefined && !unitColumn)
    refusals.add(
      0,
      column.name,
      `has no unit: name the column "${column.name}_kwh", add a column "unit", or use --unit kWh`,
    );
  const decimal = decimalOf(table, column, options, refusals);
  /** Wh of one unit, or why it cannot be used, by what a row says in the column `unit`. */
  const factors = new Map<string, number | string>();
  let isChosenUnitRefused = false;

  function factorOf(rowUnit: string): number | string {
    const unit = chosenUnit ?? rowUnit;
    if (rowUnit !== '' && (parseUnit(rowUnit) ?? rowUnit) !== (parseUnit(unit) ?? unit))
      return `"${clipText(rowUnit)}" is not the unit in the name of "${column.name}"; correct one of them`;
    if (unit.length > 20) return `"${clipText(unit)}" is not a unit of energy, such as kWh`;
    const power = meanHours === undefined ? undefined : unitFactor('power', parseUnit(unit) ?? unit);
    return power === undefined ? energyFactor(unit) : power * meanHours!;
  }

  function refuseUnit(line: number, rowUnit: string, problem: string): void {
    if (unitColumn && (chosenUnit === undefined || rowUnit !== '')) {
      refusals.add(line, unitColumn.name, problem);
    } else if (chosenUnit !== undefined) {
      // It holds for the whole column, so it is refused once.
      if (!isChosenUnitRefused) refusals.add(0, column.name, problem);
      isChosenUnitRefused = true;
    }
  }

  return ({ line, cells }) => {
    const text = cells[column.index]!;
    const rowUnit = unitColumn ? cells[unitColumn.index]! : '';
    let factor = factors.get(rowUnit);
    if (factor === undefined) {
      factor = factorOf(rowUnit);
      factors.set(rowUnit, factor);
    }
    if (typeof factor === 'string') return void refuseUnit(line, rowUnit, factor);
    const number = parseNumber(text, { decimal });
    const refuse = (message: string) => void refusals.add(line, column.name, message);
    if (text === '') return refuse('is empty; write a number, or remove the row');
    if (number === undefined)
      return refuse(
        `"${clipText(text)}" is not a number with a decimal ${decimal === '.' ? 'point' : 'comma'}, such as ${decimal === '.' ? '12.5' : '12,5'}`,
      );
    if (number < 0) return refuse(`${clipText(text)} is negative; use another meter for the other direction`);
    const wh = number * factor;
    if (wh > ENERGY_WH_MAX)
      return refuse(
        `${clipText(text)} ${chosenUnit ?? rowUnit} is more than any meter counts; check the unit`,
      );
    return Math.round(wh * MILLI) / MILLI;
  };
}

function decimalOf(
  table: UploadTable,
  column: FoundColumn,
  options: UploadOptions,
  refusals: Refusals,
): Decimal {
  if (options.decimal) return options.decimal;
  const { decimal, unclear } = guessNumberFormat(table.rows.map(({ cells }) => cells[column.index]!));
  if (unclear === undefined) return decimal;
  const { line } = table.rows.find(({ cells }) => cells[column.index] === unclear)!;
  const message = `"${unclear}" can be ${unclear.replace(',', '')} or ${unclear.replace(',', '.')}; choose one with --decimal . or --decimal ,`;
  refusals.add(line, column.name, message);
  return '.';
}

/** Reads the meter of a row. */
export function meterReader(
  { columns, meters, options, refusals }: TableContext,
  /** @returns why nothing can be uploaded for a meter, or undefined */
  objection: (meter: MeterConfig) => string | undefined,
): CellReader<MeterConfig> {
  const { meter: column } = columns;
  if (column && options.meter !== undefined)
    refusals.add(0, column.name, 'contains the meters; remove --meter');
  if (!column && options.meter === undefined)
    refusals.add(
      0,
      'meter_code',
      'is missing: add the column, or name the one meter of the file with --meter',
    );
  const known = new Map<string, MeterConfig | string>();

  function find(code: string): MeterConfig | string {
    const meter = meters.find((one) => one.code === code);
    if (meter) return objection(meter) ?? meter;
    const similar = meters.find((one) => one.code.toLowerCase() === code.toLowerCase());
    if (similar) return `"${clipText(code)}" is not configured; "${similar.code}" is, and case matters`;
    const codes = meters
      .slice(0, 10)
      .map((one) => one.code)
      .join(', ');
    return `no meter has the code "${clipText(code)}"; ${codes === '' ? 'none is configured: list them under meters of the workgroup' : `configured are ${codes}${meters.length > 10 ? ' ...' : ''}`}`;
  }

  if (!column) {
    const found = options.meter === undefined ? undefined : find(options.meter);
    // A wrong option is reported once, not for every row.
    if (typeof found === 'string') refusals.add(0, 'meter_code', found);
    return () => (typeof found === 'string' ? undefined : found);
  }
  return ({ line, cells }) => {
    const code = cells[column.index]!;
    let value = known.get(code);
    if (value === undefined) {
      value = find(code);
      known.set(code, value);
    }
    if (typeof value !== 'string') return value;
    refusals.add(line, column.name, value);
    return undefined;
  };
}
