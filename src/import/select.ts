import { InputError } from '../errors.ts';
import { type EpochUnit, epochUnits, type Mapping, mappedColumns } from './mapping.ts';
import { quoted } from './reader.ts';
import { requireColumns, type SourceColumn, type SourceFile } from './source-file.ts';

/** The statement that reads a file as the mapping says, and where in its rows things stand. */
export interface Selection {
  sql: string;
  /** How many columns there are. */
  width: number;
  /** What each of the values of a row is called; undefined where the row says so itself. */
  fields: ReadonlyArray<string | undefined>;
}

/**
 * Columns of every row, before its values: two columns a value, the number, or what it is instead as JSON. A device that is a UUID is
 * read as one, which is eight times faster than as text.
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

/** @throws InputError with everything in which the mapping does not fit the file */
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
      `the mapping for ${path}`,
      unfit.map(({ column }) => ({
        path: mapping.long ? 'long.value' : `fields.${column.name}`,
        message: `is ${column.type}, of which no number can be made`,
      })),
    );
  }
  const text = (name: string | undefined) => (name === undefined ? NONE : textOf(cell(name), mapping));
  const columns = [
    ...timeColumns(path, mapping, mapping.time.column.map(cell)),
    'broken',
    ...deviceColumns(mapping.device.column === undefined ? undefined : cell(mapping.device.column), mapping),
    text(mapping.source?.column),
    text(mapping.long?.field),
    ...values.flatMap(({ column }, index) => valueColumns(column, mapping, `n${index}`)),
  ];
  return {
    sql: `SELECT ${columns.join(', ')} FROM ${source.from}`,
    width: columns.length,
    fields: values.map(({ field }) => field),
  };
}

type Cell = SourceColumn & { sql: string };

const integerTypes = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/;
const numberTypes = /^(FLOAT|DOUBLE|DECIMAL\(.*\))$/;

function isReadable({ type }: SourceColumn): boolean {
  return type === 'VARCHAR' || type === 'BOOLEAN' || isNumber(type);
}

function isNumber(type: string): boolean {
  return integerTypes.test(type) || numberTypes.test(type);
}

/** Text without blanks around it; null where it stands for no value. */
function textOf({ sql, type }: Cell, { nullTexts }: Mapping): string {
  const text = type === 'VARCHAR' ? `trim(${sql})` : `${sql}::VARCHAR`;
  return nullTexts.length === 0
    ? text
    : `CASE WHEN ${text} NOT IN (${nullTexts.map(quoted).join(', ')}) THEN ${text} END`;
}

function deviceColumns(cell: Cell | undefined, mapping: Mapping): string[] {
  if (!cell) return ['NULL::UUID', NONE];
  const canBeUuid = cell.type === 'VARCHAR' || cell.type === 'UUID';
  const id = canBeUuid ? `try_cast(${cell.sql} AS UUID)` : 'NULL::UUID';
  return [`${id} AS device_id`, `CASE WHEN device_id IS NULL THEN ${textOf(cell, mapping)} END`];
}

/** UTC milliseconds, or local ones, or else the text that is neither. */
function timeColumns(path: string, { time }: Mapping, cells: Cell[]): string[] {
  const [only] = cells;
  const { utc, local, text } =
    cells.length === 1 && only!.type !== 'VARCHAR'
      ? typedTime(path, time.format, only!)
      : textTime(time.format, cells);
  return [`${utc} AS utc`, `${local} AS local`, `CASE WHEN utc IS NULL AND local IS NULL THEN ${text} END`];
}

interface TimeExpressions {
  utc: string;
  local: string;
  text: string;
}

function textTime(format: string, cells: Cell[]): TimeExpressions {
  const text =
    cells.length === 1
      ? `trim(${cells[0]!.sql})`
      : `concat_ws(' ', ${cells.map(({ sql }) => `trim(${sql}::VARCHAR)`).join(', ')})`;
  if (format === 'iso') {
    const isTime = `starts_with_digit(${text})`;
    return {
      utc: `CASE WHEN has_zone(${text}) AND ${isTime} THEN zoned_ms(${text}) END`,
      local: `CASE WHEN NOT has_zone(${text}) AND ${isTime} THEN epoch_ms(try_cast(${text} AS TIMESTAMP))::DOUBLE END`,
      text,
    };
  }
  if (isEpochUnit(format))
    return { utc: epoch(`plain_number(${text})`, format), local: 'NULL::DOUBLE', text };
  const parsed = `epoch_ms(try_strptime(${text}, ${quoted(format)}))::DOUBLE`;
  // With an offset in the pattern it is an instant.
  return /%[zZ]/.test(format)
    ? { utc: parsed, local: 'NULL::DOUBLE', text }
    : { utc: 'NULL::DOUBLE', local: parsed, text };
}

function typedTime(path: string, format: string, { sql, type, name }: Cell): TimeExpressions {
  const text = `${sql}::VARCHAR`;
  if (type === 'TIMESTAMP WITH TIME ZONE')
    return { utc: `epoch_ms(${sql})::DOUBLE`, local: 'NULL::DOUBLE', text };
  if (type === 'DATE' || type.startsWith('TIMESTAMP')) {
    return { utc: 'NULL::DOUBLE', local: `epoch_ms(${sql}::TIMESTAMP)::DOUBLE`, text };
  }
  if (isNumber(type) && isEpochUnit(format))
    return { utc: epoch(`${sql}::DOUBLE`, format), local: 'NULL::DOUBLE', text };
  const units = Object.keys(epochUnits).join(', ');
  const message = isNumber(type)
    ? `column "${name}" holds numbers, so the format must be one of ${units}`
    : `column "${name}" is ${type}, which is no time`;
  throw new InputError(`the mapping for ${path}`, [{ path: 'time.format', message }]);
}

function isEpochUnit(format: string): format is EpochUnit {
  return Object.hasOwn(epochUnits, format);
}

function epoch(number: string, unit: EpochUnit): string {
  return `round(${number} * ${epochUnits[unit]})`;
}

function valueColumns({ sql, type }: Cell, mapping: Mapping, number: string): string[] {
  if (type === 'BOOLEAN') return ['NULL::DOUBLE', `${sql}::VARCHAR`];
  if (isNumber(type)) {
    const isExact = `${sql} BETWEEN -9007199254740992 AND 9007199254740992`;
    return integerTypes.test(type)
      ? [`CASE WHEN ${isExact} THEN ${sql}::DOUBLE END`, `CASE WHEN NOT ${isExact} THEN ${sql}::VARCHAR END`]
      : [`${sql}::DOUBLE`, NONE];
  }
  const { nullTexts } = mapping;
  // Nearly every cell is a number, so only what is none is compared with the texts for no value, unless those look like numbers.
  const numeric = nullTexts.filter((text) => /\d/.test(text));
  const known =
    numeric.length === 0
      ? sql
      : `CASE WHEN trim(${sql}) NOT IN (${numeric.map(quoted).join(', ')}) THEN ${sql} END`;
  const parsed = `plain_number(${pointNumber(known, mapping)})`;
  const isText = [`${number} IS NULL`, `${sql} IS NOT NULL`];
  if (nullTexts.length > 0) isText.push(`trim(${sql}) NOT IN (${nullTexts.map(quoted).join(', ')})`);
  return [
    `exact_number(${parsed}, ${sql}) AS ${number}`,
    `CASE WHEN ${isText.join(' AND ')} THEN json_of(trim(${sql}))::VARCHAR END`,
  ];
}

/** A number as its text is written, with a point and without groups; null where it is written otherwise. */
function pointNumber(sql: string, { decimal, thousands }: Mapping): string {
  if (thousands !== undefined) {
    const group = thousands === '.' ? '\\.' : thousands;
    const point = decimal === '.' ? '\\.' : decimal;
    const pattern = `[+-]?(\\d{1,3}(${group}\\d{3})+|\\d+)(${point}\\d+)?`;
    return `CASE WHEN regexp_full_match(trim(${sql}), ${quoted(pattern)}) THEN replace(replace(${sql}, ${quoted(thousands)}, ''), ${quoted(decimal)}, '.') END`;
  }
  return decimal === '.' ? sql : `CASE WHEN NOT contains(${sql}, '.') THEN replace(${sql}, ',', '.') END`;
}
