import { basename } from 'node:path';
import { type EpochUnit, epochUnits } from '../foreign-table/guess-time-format.ts';
import { groupedPattern } from '../foreign-table/number-format.ts';
import { InputError } from '../lib/errors.ts';
import { sqlString } from '../lib/sql-text.ts';
import { type Mapping, mappedColumns } from './import-mapping.ts';
import { requireColumns, type SourceColumn, type SourceFile } from './source-file.ts';

/** The statement that reads a file with a mapping, and the places of its columns. */
export interface Selection {
  sql: string;
  /** The number of columns. */
  width: number;
  /** The field of each value. Undefined if the row names it. */
  fields: ReadonlyArray<string | undefined>;
}

/**
 * Columns of every row. After them there are two columns for each value: the number, and the cell as JSON if
 * it is not a number. A UUID of a device is read as UUID, which is eight times faster than text.
 */
export const rowColumns = {
  utc: 0,
  local: 1,
  timeText: 2,
  broken: 3,
  deviceId: 4,
  device: 5,
  source: 6,
  field: 7,
  values: 8,
} as const;

const NONE = 'NULL::VARCHAR';

/** @throws InputError with all conflicts between mapping and file */
export function selectRows(path: string, source: SourceFile, mapping: Mapping): Selection {
  requireColumns(path, source, mappedColumns(mapping));
  const cells = new Map(
    source.columns.map((column, index) => [column.name, { ...column, sql: `c${index}` }]),
  );
  const cell = (name: string) => cells.get(name)!;
  const values = mapping.long
    ? [{ column: cell(mapping.long.value), field: undefined }]
    : Object.entries(mapping.fields ?? {}).map(([column, field]) => ({ column: cell(column), field }));
  const unfit = values.filter(({ column }) => !isReadable(column));
  if (unfit.length > 0) {
    throw new InputError(
      `the mapping for ${basename(path)}`,
      unfit.map(({ column }) => ({
        path: mapping.long ? 'long.value' : `fields.${column.name}`,
        message: `is ${column.type}, which cannot be converted to a number`,
      })),
    );
  }
  const text = (name: string | undefined) => (name === undefined ? NONE : textOf(cell(name), mapping));
  const device = mapping.device.column === undefined ? undefined : cell(mapping.device.column);
  const steps: Steps = [[], [], []];
  const columns = [
    ...timeColumns(path, mapping, mapping.time.column.map(cell), steps),
    'broken',
    ...deviceColumns(device, mapping, steps),
    text(mapping.source?.column),
    text(mapping.long?.field),
    ...values.flatMap(({ column }, index) => valueColumns(column, mapping, String(index), steps)),
  ];
  const from = steps.reduce(
    (inner, step) => `(SELECT ${['*', ...step].join(', ')} FROM ${inner})`,
    source.from,
  );
  return {
    sql: `SELECT ${columns.join(', ')} FROM ${from}`,
    width: columns.length,
    fields: values.map(({ field }) => field),
  };
}

/**
 * Expressions that are computed before the columns. Each step can use the expressions of the step before.
 * Without steps DuckDB would compute an expression again for each place where a CASE names it.
 */
type Steps = [string[], string[], string[]];

type Cell = SourceColumn & { sql: string };

const integerTypes = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/;
const numberTypes = /^(FLOAT|DOUBLE|DECIMAL\(.*\))$/;

function isReadable({ type }: SourceColumn): boolean {
  return type === 'VARCHAR' || type === 'BOOLEAN' || isNumber(type);
}

function isNumber(type: string): boolean {
  return integerTypes.test(type) || numberTypes.test(type);
}

/** `IN` with many values becomes a join in DuckDB, and a join changes the order of rows. */
function isOneOf(text: string, values: readonly string[]): string {
  return `list_contains([${values.map(sqlString).join(', ')}], ${text})`;
}

/** Text without blanks around it. Null if it means no value. */
function textOf({ sql, type }: Cell, { nullTexts }: Mapping): string {
  const text = type === 'VARCHAR' ? `trim(${sql})` : `${sql}::VARCHAR`;
  return nullTexts.length === 0 ? text : `CASE WHEN NOT ${isOneOf(text, nullTexts)} THEN ${text} END`;
}

function deviceColumns(cell: Cell | undefined, mapping: Mapping, [first]: Steps): string[] {
  if (!cell) return ['NULL::UUID', NONE];
  const canBeUuid = cell.type === 'VARCHAR' || cell.type === 'UUID';
  first.push(`${canBeUuid ? `try_cast(${cell.sql} AS UUID)` : 'NULL::UUID'} AS device_id`);
  return ['device_id', `CASE WHEN device_id IS NULL THEN ${textOf(cell, mapping)} END`];
}

/** UTC milliseconds, local milliseconds, or the text if it is neither. */
function timeColumns(
  path: string,
  { time }: Mapping,
  cells: Cell[],
  [first, second, third]: Steps,
): string[] {
  const [only] = cells;
  let expressions: TimeExpressions;
  if (cells.length === 1 && only!.type !== 'VARCHAR') {
    expressions = typedTime(path, time.format, only!);
    first.push(`${only!.sql} AS time`);
  } else {
    expressions = textTime(time.format);
    const texts = cells.map(({ sql }) => `trim(${sql}::VARCHAR)`);
    first.push(`${texts.length === 1 ? texts[0]! : `concat_ws(' ', ${texts.join(', ')})`} AS time`);
    if (time.format === 'iso')
      second.push('has_zone(time) AS has_zone', 'starts_with_digit(time) AS is_time');
  }
  third.push(`${expressions.utc} AS utc`, `${expressions.local} AS local`);
  return ['utc', 'local', 'CASE WHEN utc IS NULL AND local IS NULL THEN time::VARCHAR END'];
}

interface TimeExpressions {
  utc: string;
  local: string;
}

const NO_MS = 'NULL::DOUBLE';

function textTime(format: string): TimeExpressions {
  if (format === 'iso') {
    return {
      utc: 'CASE WHEN has_zone AND is_time THEN zoned_ms(time) END',
      local: 'CASE WHEN NOT has_zone AND is_time THEN epoch_ms(try_cast(time AS TIMESTAMP))::DOUBLE END',
    };
  }
  if (isEpochUnit(format)) return { utc: epoch('plain_number(time)', format), local: NO_MS };
  const parsed = `epoch_ms(try_strptime(time, ${sqlString(format)}))::DOUBLE`;
  // A pattern with an offset gives an instant.
  return /%[zZ]/.test(format) ? { utc: parsed, local: NO_MS } : { utc: NO_MS, local: parsed };
}

function typedTime(path: string, format: string, { type, name }: Cell): TimeExpressions {
  if (type === 'TIMESTAMP WITH TIME ZONE') return { utc: 'epoch_ms(time)::DOUBLE', local: NO_MS };
  if (type === 'DATE' || type.startsWith('TIMESTAMP')) {
    return { utc: NO_MS, local: 'epoch_ms(time::TIMESTAMP)::DOUBLE' };
  }
  if (isNumber(type) && isEpochUnit(format)) return { utc: epoch('time::DOUBLE', format), local: NO_MS };
  const units = Object.keys(epochUnits).join(', ');
  const message = isNumber(type)
    ? `column "${name}" contains numbers, so the format must be one of ${units}`
    : `column "${name}" is ${type}, which is not a time`;
  throw new InputError(`the mapping for ${basename(path)}`, [{ path: 'time.format', message }]);
}

function isEpochUnit(format: string): format is EpochUnit {
  return Object.hasOwn(epochUnits, format);
}

function epoch(number: string, unit: EpochUnit): string {
  return `round(${number} * ${epochUnits[unit]})`;
}

function valueColumns(
  { sql, type }: Cell,
  mapping: Mapping,
  place: string,
  [first, second]: Steps,
): string[] {
  if (type === 'BOOLEAN') return ['NULL::DOUBLE', `${sql}::VARCHAR`];
  if (isNumber(type)) {
    const isExact = `${sql} BETWEEN -9007199254740992 AND 9007199254740992`;
    return integerTypes.test(type)
      ? [`CASE WHEN ${isExact} THEN ${sql}::DOUBLE END`, `CASE WHEN NOT ${isExact} THEN ${sql}::VARCHAR END`]
      : floatColumns(sql, type);
  }
  const { nullTexts } = mapping;
  // A cell that is a number is compared only with those texts for a missing value that contain a digit. This
  // is faster.
  const numeric = nullTexts.filter((text) => /\d/.test(text));
  const known =
    numeric.length === 0 ? sql : `CASE WHEN NOT ${isOneOf(`trim(${sql})`, numeric)} THEN ${sql} END`;
  const [parsed, number] = [`parsed${place}`, `number${place}`];
  first.push(`plain_number(${pointNumber(known, mapping)}) AS ${parsed}`);
  second.push(`exact_number(${parsed}, ${sql}) AS ${number}`);
  const isText = [`${number} IS NULL`, `${sql} IS NOT NULL`];
  if (nullTexts.length > 0) isText.push(`NOT ${isOneOf(`trim(${sql})`, nullTexts)}`);
  return [number, `CASE WHEN ${isText.join(' AND ')} THEN json_of(trim(${sql}))::VARCHAR END`];
}

/** The rules are those for text: NaN is a missing value, and infinity is not a number. */
function floatColumns(sql: string, type: string): string[] {
  if (type.startsWith('DECIMAL')) return [`${sql}::DOUBLE`, NONE];
  return [
    `CASE WHEN isfinite(${sql}) THEN ${sql}::DOUBLE END`,
    `CASE WHEN isinf(${sql}) THEN to_json(${sql}::VARCHAR)::VARCHAR END`,
  ];
}

/**
 * Converts the notation of a number to a decimal point without groups. Null if the text has another notation.
 */
function pointNumber(sql: string, { decimal, thousands }: Mapping): string {
  if (thousands !== undefined) {
    const pattern = groupedPattern({ decimal, thousands });
    return `CASE WHEN regexp_full_match(trim(${sql}), ${sqlString(pattern)}) THEN replace(replace(${sql}, ${sqlString(thousands)}, ''), ${sqlString(decimal)}, '.') END`;
  }
  return decimal === '.' ? sql : `CASE WHEN NOT contains(${sql}, '.') THEN replace(${sql}, ',', '.') END`;
}
