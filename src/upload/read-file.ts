import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { csvLine, isWorkbook, readWorkbook } from '../foreign-table/read-workbook.ts';
import { ZipError } from '../foreign-table/read-zip.ts';
import { type Compression, fileKind } from '../import/file-kind.ts';
import { openReader, type Reader, unreadable } from '../import/open-reader.ts';
import { openSource } from '../import/source-file.ts';
import { cannotBeRead, errorCode, errorMessage } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { readTable, readText, type UploadRequest } from './read-upload.ts';
import { RefusedFile } from './refusals.ts';
import type { Upload } from './upload-rows.ts';
import {
  TOO_MANY_CELLS,
  TOO_MANY_COLUMNS,
  TOO_MANY_ROWS,
  UPLOAD_CELLS_MAX,
  UPLOAD_COLUMNS_MAX,
  UPLOAD_ROWS_MAX,
  type UploadTable,
} from './upload-table.ts';

/** Unpacked. */
const BYTES_MAX = 128 * MEBIBYTE;

interface WorkbookOptions {
  /** The sheet of a workbook. Default: the first visible one with rows. */
  sheet: string | undefined;
  /** Called with the sheet that is read if a workbook has several. */
  onNote(note: string): void;
}

/**
 * Reads a whole file: CSV, NDJSON or JSON, also packed, Parquet, or one sheet of an XLSX workbook.
 * @throws RefusedFile with all problems of the file, InputError if it cannot be read
 */
export async function readUploadFile(
  path: string,
  request: Omit<UploadRequest, 'name'>,
  workbook: WorkbookOptions,
): Promise<Upload> {
  const { format, compression } = fileKind(path);
  const named = { ...request, name: basename(path) };
  if (isWorkbook(path)) return readText(await workbookCsv(path, workbook), 'csv', csvRequest(named));
  switch (format) {
    case 'parquet':
      return readTable(await parquetTable(path), named);
    case 'csv':
      return readText(textBytes(path, compression), 'csv', named);
    case 'ndjson':
      return readText(textBytes(path, compression), 'json', named);
    case undefined:
      throw refusedFile(
        path,
        'has a name that does not end in .csv, .ndjson, .json, .parquet or .xlsx; save it in one of these formats',
      );
    default:
      return format satisfies never;
  }
}

function refusedFile(path: string, message: string): RefusedFile {
  return new RefusedFile(basename(path), [{ line: 0, message }]);
}

function textBytes(path: string, compression: Compression): Buffer {
  try {
    if (statSync(path).size > BYTES_MAX) throw new RangeError('too large');
    const bytes = readFileSync(path);
    if (compression === 'none') return bytes;
    return compression === 'gzip' ? gunzipSync(bytes, { maxOutputLength: BYTES_MAX }) : unpackZstd(bytes);
  } catch (error) {
    if (error instanceof RangeError)
      throw refusedFile(path, `is larger than ${BYTES_MAX / MEBIBYTE} MiB; split it`);
    throw refusedFile(
      path,
      /^(Z_|ZSTD_)/.test(errorCode(error) ?? '')
        ? `is damaged or cut off: ${errorMessage(error)}`
        : cannotBeRead(error),
    );
  }
}

/** Unpacks all frames. Node would unpack only the first one. */
function unpackZstd(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let left = BYTES_MAX;
  for (let at = 0; at < bytes.length; ) {
    const { buffer, engine } = zstdDecompressSync(bytes.subarray(at), {
      maxOutputLength: Math.max(1, left),
      info: true,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    parts.push(buffer);
    left -= buffer.length;
    at += engine.bytesWritten;
  }
  if (left < 0) throw new RangeError('too large');
  return Buffer.concat(parts);
}

/** A sheet as CSV with a line for each row, so that messages name its rows. */
async function workbookCsv(path: string, { sheet, onNote }: WorkbookOptions): Promise<Buffer> {
  try {
    const { chosen, width, note } = await readWorkbook(path, sheet);
    if (note !== undefined) onNote(note);
    const lines: string[] = [];
    for await (const cells of chosen.rows()) lines.push(cells.length === 0 ? '' : csvLine(cells, width));
    return Buffer.from(`${lines.join('\n')}\n`);
  } catch (error) {
    if (error instanceof ZipError) throw refusedFile(path, error.message);
    const code = errorCode(error);
    throw code === undefined ? error : refusedFile(path, cannotBeRead(error));
  }
}

/** Numbers of a workbook have a point. Texts in it can have a comma. */
function csvRequest(request: UploadRequest): UploadRequest {
  return {
    ...request,
    options: { ...request.options, delimiter: ',', decimal: request.options.decimal ?? '.' },
  };
}

async function parquetTable(path: string): Promise<UploadTable> {
  let reader: Reader | undefined;
  try {
    reader = await openReader(path, { threads: 1 });
    const { columns, from } = await openSource(reader, { format: 'parquet', csv: { encoding: 'utf-8' } }, []);
    if (columns.length > UPLOAD_COLUMNS_MAX) throw refusedFile(path, TOO_MANY_COLUMNS);
    const rowsMax = Math.min(UPLOAD_ROWS_MAX, Math.floor(UPLOAD_CELLS_MAX / columns.length));
    const cells = columns.map((_, index) => `coalesce(trim(c${index}::VARCHAR), '') AS c${index}`).join(', ');
    const found = await reader.connection.runAndReadAll(`SELECT ${cells} FROM ${from} LIMIT ${rowsMax + 1}`);
    const rows = found.getRows() as string[][];
    if (rows.length > rowsMax)
      throw refusedFile(path, rowsMax < UPLOAD_ROWS_MAX ? TOO_MANY_CELLS : TOO_MANY_ROWS);
    return {
      columns: columns.map(({ name }) => name),
      rows: rows.map((row, index) => ({ line: index + 1, cells: row })),
    };
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    reader?.close();
  }
}
