import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ExportConfig } from '../config/export-settings.ts';
import { hashFile, syncPath } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';
import { sqlString } from '../lib/sql-text.ts';
import type { Generation, LakeReader } from '../report/lake-reader.ts';
import { queryText } from '../warehouse/query.ts';
import { type DayFingerprint, hashOf, readFingerprints } from './day-fingerprints.ts';
import { fromDiskError } from './disk-error.ts';
import { type ColumnName, columnType } from './export-columns.ts';
import { type ExportFacts, factsOf } from './export-facts.ts';
import type { ExportRun } from './export-ledger.ts';
import { type ExportQuery, orderBy, type RowSelect } from './exported-report.ts';
import { openReport } from './open-report.ts';
import { runXlsxThread } from './run-xlsx-thread.ts';

export type ExportFormat = ExportConfig['format'];
export type ExportedFile = NonNullable<ExportRun['file']>;

export interface WriteRequest {
  query: ExportQuery;
  format: ExportFormat;
  name: string;
  /** The finished file appears in this folder at once. */
  folder: string;
}

/**
 * Writes the rows of one generation to a file, and returns their totals.
 * @throws TransientError DiskFull, TerminalError TooManyRows if the format cannot hold the rows
 */
export async function writeExportFile(
  lake: LakeReader,
  generation: Generation,
  { query, format, name, folder }: WriteRequest,
  signal?: AbortSignal,
): Promise<ExportedFile> {
  const path = join(folder, name);
  const draft = `${path}.part`;
  const rowsPath = `${path}.rows`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const report = await openReport(query, { generation, lake, signal });
    const select = report.rows(query.period);
    const facts = factsOf(query, generation);
    const copy = (cell: (column: ColumnName) => string, options: string, to: string) =>
      lake.run(select.reads, (connection) => copyTo(connection, select, cell, options, to), signal);
    const days = await lake.run(select.reads, (connection) => readFingerprints(connection, select), signal);
    switch (format) {
      case 'csv':
        await copy(csvCell, CSV, draft);
        break;
      case 'parquet':
        await copy(typedCell, parquetOptions(facts, select), draft);
        break;
      case 'xlsx': {
        const rows = totalOf(days, 'rows');
        refuseTooMany(rows);
        await copy(typedCell, PARQUET, rowsPath);
        const sums = report.sums?.(query.period);
        await runXlsxThread({ facts, sums, rows, columns: select.columns, rowsPath, path: draft });
        break;
      }
      case 'json':
        await writeParts(await report.body(query.period), draft);
        break;
      default:
        format satisfies never;
    }
    const sha256 = await settle(draft, path, folder);
    const { size } = await stat(path);
    return {
      name,
      rows: totalOf(days, 'rows'),
      bytes: size,
      sha256,
      generation: facts.generation,
      zone: facts.timezone,
      energyWh: totalOf(days, 'energyWh'),
      rowsHash: hashOf(days),
      days,
    };
  } catch (error) {
    await rm(draft, { force: true });
    throw fromDiskError(error, folder);
  } finally {
    await rm(rowsPath, { force: true });
  }
}

/** A sheet can hold a million rows, but making it would take too much memory. */
const SHEET_ROWS_MAX = 50_000;

function refuseTooMany(rows: number): void {
  if (rows > SHEET_ROWS_MAX)
    throw new TerminalError(
      'TooManyRows',
      `there are ${rows.toLocaleString('en')} rows, but a sheet can have ${SHEET_ROWS_MAX.toLocaleString('en')}; choose csv or parquet, a shorter range, or fewer devices or meters`,
    );
}

function totalOf(days: readonly DayFingerprint[], what: 'rows' | 'energyWh'): number {
  return days.reduce((sum, day) => sum + day[what], 0);
}

/** RFC 4180, with times in ISO 8601. */
const CSV =
  "FORMAT csv, HEADER, NEW_LINE '\\r\\n', DATEFORMAT '%Y-%m-%d', TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%SZ'";
const PARQUET = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1';

async function copyTo(
  connection: DuckDBConnection,
  select: RowSelect,
  cell: (column: ColumnName) => string,
  options: string,
  path: string,
): Promise<void> {
  const cells = select.columns.map((column) => `${cell(column)} AS ${column}`).join(', ');
  await queryText(
    connection,
    `COPY (SELECT ${cells} FROM (\n${select.sql}\n) AS exported ${orderBy(select)}) TO $path (${options})`,
    { ...select.parameters, path },
  );
}

/** The cell with its declared type, also if all rows are empty. */
function typedCell(column: ColumnName): string {
  return `${column}::${columnType(column).sql}`;
}

/** Puts an apostrophe before text that a spreadsheet would read as a formula. Lists become text. */
function csvCell(column: ColumnName): string {
  switch (columnType(column).sql) {
    case 'VARCHAR':
      return `CASE WHEN regexp_matches(${column}, '^[=+@\\t\\r\\n-]') THEN '''' || ${column} ELSE ${column} END`;
    case 'VARCHAR[]':
      return `nullif(array_to_string(${column}, ' '), '')`;
    case 'TIMESTAMP':
      // Local time, without a Z.
      return `strftime(${column}, '%Y-%m-%dT%H:%M:%S')`;
    default:
      return column;
  }
}

/** Stores the meaning of the columns in the metadata of the file. */
function parquetOptions(facts: ExportFacts, { columns }: RowSelect): string {
  const about = Object.fromEntries(columns.map((column) => [column, columnType(column).about]));
  const text = JSON.stringify({ ...facts, columns: about });
  return `${PARQUET}, KV_METADATA { wattline: ${sqlString(text)} }`;
}

async function writeParts(parts: readonly Uint8Array[], path: string): Promise<void> {
  await using file = await open(path, 'w', 0o600);
  for (const part of parts) await file.writeFile(part);
}

/** Makes a file durable, then renames it. @returns its SHA-256 */
async function settle(draft: string, path: string, folder: string): Promise<string> {
  await syncPath(draft);
  const sha256 = await hashFile(draft);
  await rename(draft, path);
  await syncPath(folder);
  return sha256;
}
