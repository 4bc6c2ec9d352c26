import { dirname } from 'node:path';
import writeXlsxFile, { type Cell, type Row } from 'write-excel-file/node';
import type { ExportReport } from '../config/export-settings.ts';
import { formatCount } from '../lib/format-count.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { openQueryPool } from '../report/lake/query-pool.ts';
import { type ColumnName, columnType } from '../report/rows/row-columns.ts';
import { queryText } from '../warehouse/query.ts';
import type { ExportFacts } from './export-facts.ts';
import { readTotals, type TotalColumns, type TotalRow } from './sheet-totals.ts';

export interface SheetRequest {
  facts: ExportFacts;
  /** The totals of all rows, as text. */
  sums: Array<[string, string]> | undefined;
  /** The columns of the sheet with totals. Undefined: no such sheet. */
  totals: TotalColumns | undefined;
  /** The number of rows. */
  rows: number;
  columns: readonly ColumnName[];
  /** A Parquet file with the sorted rows. */
  rowsPath: string;
  path: string;
}

/** The title of a report. */
const titles: Readonly<Record<ExportReport, string>> = {
  daily_energy: 'Daily energy',
  device_daily_energy: 'Daily energy of devices',
  interval_energy: 'Energy by 15 minutes',
  meter_data: 'Meter data',
  budget_data: 'Budget data',
  reconciliation: 'Reconciliation',
  variance: 'Actual against budget',
  balance: 'Energy balance',
};

const heading = {
  fontWeight: 'bold',
  backgroundColor: '#1f3a5f',
  textColor: '#ffffff',
  alignVertical: 'center',
  height: 22,
} as const;
/** Leaves a gap to the number on the left. */
const LEFT = { align: 'left', indent: 1 } as const;
const FONT = { fontFamily: 'Calibri', fontSize: 11 };

/**
 * Writes rows as a sheet, with a second sheet that explains them. Takes about 100 microseconds and 8 KB for
 * each row.
 */
export async function writeXlsx(request: SheetRequest): Promise<void> {
  const { columns, facts, path } = request;
  const { rows, totals } = await readRows(request);
  const sheet = {
    sheet: titles[facts.report],
    data: [
      columns.flatMap(headingsOf),
      ...rows.map((row) => columns.flatMap((name) => cellsOf(name, row[name] ?? null))),
    ],
    columns: columns.flatMap(widthsOf),
    stickyRowsCount: 1,
    orientation: 'landscape' as const,
    dateFormat: 'yyyy-mm-dd',
  };
  const about = {
    sheet: 'About',
    data: aboutRows(request),
    columns: [{ width: 34 }, { width: 90 }],
    orientation: 'landscape' as const,
  };
  const sheets = totals ? [sheet, totalSheet(request.totals!, totals), about] : [sheet, about];
  await writeXlsxFile(sheets, { ...FONT, features: [filterOf(sheet.data)] }).toFile(path);
}

/**
 * A filter on the heading of the first sheet. The library has no filters, so it is written into the XML
 * after the cells.
 */
function filterOf([header, ...rows]: readonly Row[]) {
  const columns = header!.length;
  const last = `${columns > 26 ? String.fromCharCode(64 + Math.floor((columns - 1) / 26)) : ''}${String.fromCharCode(65 + ((columns - 1) % 26))}`;
  const filter = `<autoFilter ref="A1:${last}${rows.length + 1}"/>`;
  return {
    files: {
      transform: {
        'xl/worksheets/sheet{id}.xml': {
          transform: (xml: string, _options: unknown, { sheetIndex }: { sheetIndex: number }) =>
            sheetIndex === 0 ? xml.replace('</sheetData>', `</sheetData>${filter}`) : xml,
        },
      },
    },
  };
}

/** The sums of each device and source, or of each meter. */
function totalSheet({ keys, energies }: TotalColumns, totals: readonly TotalRow[]) {
  const count = { value: 'Rows with energy', align: 'right' as const, ...heading };
  return {
    sheet: 'Totals',
    data: [
      [...keys.flatMap(headingsOf), count, ...energies.flatMap(headingsOf)] as Row,
      ...totals.map(
        (total): Row => [
          ...keys.flatMap((name) => cellsOf(name, total.keys[name] ?? null)),
          { value: total.count, type: Number, format: '#,##0' },
          ...energies.flatMap((name) => cellsOf(name, total.sumsWh[name] ?? null)),
        ],
      ),
    ],
    columns: [...keys.flatMap(widthsOf), { width: 18 }, ...energies.flatMap(widthsOf)],
    stickyRowsCount: 1,
    orientation: 'landscape' as const,
  };
}

/** Columns in Wh with a column in kWh next to them. Balances have too many columns for that. */
const withKwh: ReadonlySet<ColumnName> = new Set([
  ...(['energy_wh', 'budget_wh', 'actual_wh', 'meters_wh', 'devices_wh'] as const),
]);

function headingsOf(name: ColumnName): Row {
  const { title } = columnType(name);
  const style = { ...(isNumber(name) ? { align: 'right' as const } : LEFT), ...heading };
  const cell = { value: title, ...style };
  return withKwh.has(name) ? [cell, { value: title.replace('(Wh)', '(kWh)'), ...style }] : [cell];
}

function cellsOf(name: ColumnName, value: CellValue): Row {
  const cell = cellOf(name, value);
  if (!withKwh.has(name)) return [cell];
  return [cell, value === null ? null : { value: Number(value) / 1e3, type: Number, format: '#,##0.000' }];
}

function widthsOf(name: ColumnName): Array<{ width: number }> {
  const width = { width: columnType(name).width + 1 };
  return withKwh.has(name) ? [width, width] : [width];
}

type CellValue = string | number | boolean | null;

const POOL = { threads: 1, memoryMegabytes: 256, queriesMax: 1, waitingMax: 0, queryMsMax: 5 * MINUTE_MS };

/** The rows as numbers and text, and their totals. Times are milliseconds. */
async function readRows({ columns, totals, rowsPath }: SheetRequest): Promise<{
  rows: Array<Record<string, CellValue>>;
  totals: TotalRow[] | undefined;
}> {
  const cells = columns.map((name) => `${plain(name)} AS ${name}`).join(', ');
  const pool = await openQueryPool({ ...POOL, folders: [dirname(rowsPath)] });
  try {
    return await pool.run(async (connection) => ({
      rows: await queryText<Record<string, CellValue>>(
        connection,
        `SELECT ${cells} FROM read_parquet($path)`,
        { path: rowsPath },
      ),
      totals: totals && (await readTotals(connection, totals, rowsPath)),
    }));
  } finally {
    await pool.close();
  }
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
      return { value: new Date(Number(value)), type: Date, format: 'yyyy-mm-dd', ...LEFT };
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return { value: new Date(Number(value)), type: Date, format: 'yyyy-mm-dd hh:mm:ss', ...LEFT };
    case 'BIGINT':
    case 'DOUBLE':
      return { value: Number(value), type: Number, format: format ?? '#,##0' };
    case 'BOOLEAN':
      return { value: value ? 'yes' : 'no', type: String, ...LEFT };
    default:
      return { value: String(value), type: String, ...LEFT };
  }
}

/** The flags of days, and what they mean. */
export const sheetFlags: Readonly<Record<string, string>> = {
  estimated: 'spread over more than two hours without readings',
  reset: 'the register restarted; its value after the restart was counted',
  rollover: 'the register rolled over to 0',
  rebase: 'the register jumped by an impossible amount, which was not counted',
  jitter: 'the register fell a little, which was not counted',
  spike: 'impossibly high readings were left out',
  gap: 'a time without measurements was not filled',
  partial: 'measurements begin or end within the day',
  incomplete: 'a source of the device has no energy, so the device has none or less',
  carry_over: 'the daily register still had the value of the day before, which was left out',
  glitch: 'impossibly low readings were left out',
  contradicted: 'another method differs by more than a tenth; only one of them can be right',
  unavailable:
    'a field of the source could not be computed; the energy is the previous one, or from another field',
  substituted: 'the other methods contradict the first one, so another one is used',
  corrected: 'a person excluded readings, or set or estimated the energy',
  mixed: 'the sources of the device have several roles, and one of them is used',
  undeclared: 'a source of the device has no role',
};

function aboutRows({ columns, facts, sums, rows }: SheetRequest): Row[] {
  const title = (text: string): Row => [{ value: text, columnSpan: 2, ...heading }, null];
  const line = (name: string, value: string): Row => [
    { value: name, type: String, fontWeight: 'bold', alignVertical: 'top' },
    { value, type: String, wrap: true, alignVertical: 'top' },
  ];
  const chosen = Object.entries({ Site: facts.site, Scenario: facts.scenario });
  return [
    title('About this file'),
    line('Report', titles[facts.report]),
    line('Workgroup', facts.workgroup),
    ...chosen.flatMap(([name, value]) => (value === undefined ? [] : [line(name, value)])),
    ...(facts.devices ? [line('Devices', facts.devices.join(', '))] : []),
    ...(facts.meters ? [line('Meters', facts.meters.join(', '))] : []),
    line('First day', facts.startDate),
    line('Last day', facts.endDate),
    line('Time zone of the days', facts.timezone),
    line('Rows', formatCount(rows)),
    line('Generation', `${facts.generation}: the published state of the data that this file was made from`),
    ...(sums ? [[], title('In all'), ...sums.map(([name, value]) => line(name, value))] : []),
    [],
    title('Columns'),
    ...columns.map((name) => line(columnType(name).title, columnType(name).about)),
    ...(columns.some((name) => withKwh.has(name))
      ? [line('(kWh)', 'The column in Wh divided by 1,000')]
      : []),
    ...(columns.includes('flags')
      ? [[], title('Flags'), ...Object.entries(sheetFlags).map(([flag, meaning]) => line(flag, meaning))]
      : []),
  ];
}
