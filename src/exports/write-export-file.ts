import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportConfig } from '../config/export-settings.ts';
import { hashFile, syncPath } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import type { Generation, LakeReader } from '../report/lake/lake-reader.ts';
import { copyRows, type RowFormat } from '../report/rows/copy-rows.ts';
import { columnType } from '../report/rows/row-columns.ts';
import type { RowSelect } from '../report/rows/row-select.ts';
import { type DayFingerprint, hashOf, readFingerprints } from './day-fingerprints.ts';
import { fromDiskError } from './disk-error.ts';
import { type ExportFacts, factsOf } from './export-facts.ts';
import type { ExportRun } from './export-ledger.ts';
import type { ExportQuery } from './exported-report.ts';
import { openReport } from './open-report.ts';
import { runXlsxThread } from './run-xlsx-thread.ts';
import { totalColumnsOf } from './sheet-totals.ts';

export type ExportFormat = ExportConfig['format'];
type ExportedFile = NonNullable<ExportRun['file']>;

interface WriteRequest {
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
    const copy = (to: string, as: RowFormat, metadata?: string) =>
      lake.run(select.reads, (connection) => copyRows(connection, select, as, to, metadata), signal);
    const { days, totalWh } = await lake.run(
      select.reads,
      (connection) => readFingerprints(connection, select),
      signal,
    );
    switch (format) {
      case 'csv':
        await copy(draft, 'csv');
        break;
      case 'parquet':
        await copy(draft, 'parquet', metadataOf(facts, select));
        break;
      case 'xlsx': {
        const rows = rowsOf(days);
        refuseTooMany(rows);
        await copy(rowsPath, 'parquet');
        const sums = report.sums?.(query.period);
        // A report with sums has its totals on the last sheet.
        const totals = sums ? undefined : totalColumnsOf(select);
        await runXlsxThread({ facts, sums, totals, rows, columns: select.columns, rowsPath, path: draft });
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
      rows: rowsOf(days),
      bytes: size,
      sha256,
      generation: facts.generation,
      zone: facts.timezone,
      energyWh: totalWh,
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
      `there are ${formatCount(rows)} rows, but a sheet can have ${formatCount(SHEET_ROWS_MAX)}; choose csv or parquet, a shorter range, or fewer devices or meters`,
    );
}

function rowsOf(days: readonly DayFingerprint[]): number {
  return days.reduce((sum, { rows }) => sum + rows, 0);
}

/** The meaning of the columns, for the metadata of the file. */
function metadataOf(facts: ExportFacts, { columns }: RowSelect): string {
  const about = Object.fromEntries(columns.map((column) => [column, columnType(column).about]));
  return JSON.stringify({ ...facts, columns: about });
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
