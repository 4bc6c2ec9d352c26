import type { DuckDBConnection } from '@duckdb/node-api';
import writeXlsxFile, { type Cell, type Row } from 'write-excel-file/node';
import { TerminalError } from '../errors.ts';
import type { ExportReport } from '../export-settings.ts';
import { queryText } from '../warehouse/query.ts';
import { type ColumnName, columnType } from './columns.ts';
import { orderBy, type RowSelect } from './report.ts';
import type { ExportFacts } from './write-file.ts';

export interface SheetRequest {
  facts: ExportFacts;
  /** What all rows come to, in words. */
  sums: Array<[string, string]> | undefined;
  /** How many there are. */
  rows: number;
  path: string;
}

/** A sheet could hold a million, but making it takes the memory and the time of everything else here. */
const ROWS_MAX = 50_000;

/** What a report is called above its sheet. */
const titles: Readonly<Record<ExportReport, string>> = {
  daily_energy: 'Daily energy',
  device_daily_energy: 'Daily energy of devices',
  interval_energy: 'Energy by 15 minutes',
  meter_data: 'Meter data',
  budget_data: 'Budget data',
  reconciliation: 'Reconciliation',
  variance: 'Actual against budget',
};

const heading = {
  fontWeight: 'bold',
  backgroundColor: '#1f3a5f',
  textColor: '#ffffff',
  alignVertical: 'center',
  height: 22,
} as const;
const FONT = { fontFamily: 'Calibri', fontSize: 11 };

/** Writes the rows as a sheet for people, with a second one that says what they are. @throws TerminalError TooManyRows */
export async function writeXlsx(
  connection: DuckDBConnection,
  select: RowSelect,
  request: SheetRequest,
): Promise<void> {
  if (request.rows > ROWS_MAX)
    throw new TerminalError(
      'TooManyRows',
      `there are ${request.rows} rows, and a sheet takes ${ROWS_MAX} here; choose csv or parquet, a shorter range or fewer devices`,
    );
  const { columns } = select;
  const header: Row = columns.map((name) => ({
    value: columnType(name).title,
    align: isNumber(name) ? 'right' : 'left',
    ...heading,
  }));
  const rows = await readCells(connection, select);
  const sheet = {
    sheet: titles[request.facts.report],
    data: [header, ...rows.map((row) => columns.map((name): Cell => cellOf(name, row[name] ?? null)))],
    columns: columns.map((name) => ({ width: columnType(name).width })),
    stickyRowsCount: 1,
    orientation: 'landscape' as const,
    dateFormat: 'yyyy-mm-dd',
  };
  const about = { sheet: 'About', data: aboutRows(select, request), columns: [{ width: 24 }, { width: 90 }] };
  await writeXlsxFile([sheet, about], FONT).toFile(request.path);
}

type CellValue = string | number | boolean | null;

/** The rows as numbers and text alone; times as milliseconds. */
function readCells(
  connection: DuckDBConnection,
  select: RowSelect,
): Promise<Array<Record<string, CellValue>>> {
  const cells = select.columns.map((name) => `${plain(name)} AS ${name}`).join(', ');
  return queryText(
    connection,
    `SELECT ${cells} FROM (\n${select.sql}\n) AS exported ${orderBy(select)}`,
    select.parameters,
  );
}

function plain(name: ColumnName): string {
  const { sql } = columnType(name);
  switch (sql) {
    case 'DATE':
      return `epoch_ms(${name}::TIMESTAMP)::DOUBLE`;
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return `epoch_ms(${name})::DOUBLE`;
    case 'UUID':
      return `${name}::VARCHAR`;
    case 'VARCHAR[]':
      return `array_to_string(${name}, ' ')`;
    case 'BIGINT':
      return `${name}::DOUBLE`;
    case 'VARCHAR':
    case 'DOUBLE':
    case 'BOOLEAN':
      return name;
    default:
      return sql satisfies never;
  }
}

function isNumber(name: ColumnName): boolean {
  return ['BIGINT', 'DOUBLE'].includes(columnType(name).sql);
}

function cellOf(name: ColumnName, value: CellValue): Cell {
  if (value === null || value === '') return null;
  const { sql, format } = columnType(name);
  switch (sql) {
    case 'DATE':
      return { value: new Date(Number(value)), type: Date, format: 'yyyy-mm-dd', align: 'left' };
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return { value: new Date(Number(value)), type: Date, format: 'yyyy-mm-dd hh:mm:ss', align: 'left' };
    case 'BIGINT':
    case 'DOUBLE':
      return { value: Number(value), type: Number, format: format ?? '#,##0' };
    case 'BOOLEAN':
      return { value: value ? 'yes' : 'no', type: String };
    default:
      return { value: String(value), type: String };
  }
}

const words: Readonly<Record<string, string>> = {
  estimated: 'spread over a silence of more than two hours',
  reset: 'the register began again; what it then showed was counted',
  rollover: 'the register passed its end and went on at 0',
  rebase: 'the register jumped impossibly; the jump was not counted',
  jitter: 'the register went back a little, which was not counted',
  spike: 'impossible readings were left out',
  gap: 'time without measurements was not filled in',
  partial: 'measurements begin or end within the day',
  incomplete: 'a source of the device has no energy, so the device has none or less',
  carry_over: "yesterday's value of a daily register was still shown and was left out",
};

function aboutRows({ columns }: RowSelect, { facts, sums, rows }: SheetRequest): Row[] {
  const title = (text: string): Row => [{ value: text, columnSpan: 2, ...heading }, null];
  const line = (name: string, value: string): Row => [
    { value: name, type: String, fontWeight: 'bold', alignVertical: 'top' },
    { value, type: String, wrap: true, alignVertical: 'top' },
  ];
  const chosen = Object.entries({ Site: facts.site, Scenario: facts.scenario });
  return [
    title('What this is'),
    line('Report', titles[facts.report]),
    line('Workgroup', facts.workgroup),
    ...chosen.flatMap(([name, value]) => (value === undefined ? [] : [line(name, value)])),
    ...(facts.devices ? [line('Devices', facts.devices.join(', '))] : []),
    ...(facts.meters ? [line('Meters', facts.meters.join(', '))] : []),
    line('First day', facts.startDate),
    line('Last day', facts.endDate),
    line('Time zone of the days', facts.timezone),
    line('Rows', rows.toLocaleString('en')),
    line('Generation', `${facts.generation}: the published state of the data that this was made from`),
    ...(sums ? [[], title('In all'), ...sums.map(([name, value]) => line(name, value))] : []),
    [],
    title('Columns'),
    ...columns.map((name) => line(columnType(name).title, columnType(name).about)),
    ...(columns.includes('flags')
      ? [[], title('Flags'), ...Object.entries(words).map(([flag, meaning]) => line(flag, meaning))]
      : []),
  ];
}
