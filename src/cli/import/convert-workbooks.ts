import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openWorkbook, type WorkbookSheet } from '../../foreign-table/open-workbook.ts';
import { openZip, ZipError } from '../../foreign-table/read-zip.ts';
import { InputError } from '../../lib/errors.ts';
import type { Service } from '../../service/service.ts';
import { inTempFolder } from '../temp-folder.ts';

const WORKBOOK = /\.xls[xm]?$/i;
/** A workbook is in memory as a whole. */
const WORKBOOK_BYTES_MAX = 128 * 1024 * 1024;
/** A small file can unpack to a very large one. */
const WORKBOOK_UNPACKED_BYTES_MAX = 400 * 1024 * 1024;
/** Cells of a sheet with those that are empty. A sheet with one cell far to the right in each row would fill the disk. */
const WORKBOOK_CELLS_MAX = 20_000_000;
/** Ctrl-C is noticed after this number of rows. */
const TURN_ROWS = 5_000;

export interface ConvertOptions {
  service: Service;
  /** The sheet to read. Default: the first visible one with rows. */
  sheet: string | undefined;
  onNote(note: string): void;
}

/**
 * Calls `work` with the files, and with a CSV file in the place of each XLSX workbook. The same workbook always gives the same CSV file, so an
 * interrupted import continues.
 * @throws InputError if a workbook cannot be read
 */
export async function withoutWorkbooks<Result>(
  paths: readonly string[],
  { service, sheet, onNote }: ConvertOptions,
  work: (files: string[]) => Promise<Result>,
): Promise<Result> {
  if (!paths.some((path) => WORKBOOK.test(path))) {
    if (sheet !== undefined) throw new InputError('--sheet', [{ path: '', message: 'is for XLSX files' }]);
    return work([...paths]);
  }
  return inTempFolder('import', service, async (folder) => {
    const files: string[] = [];
    for (const [index, path] of paths.entries()) {
      if (!WORKBOOK.test(path)) files.push(path);
      else {
        const own = join(folder, String(index));
        await mkdir(own);
        const target = join(own, `${basename(path)}.csv`);
        await convertWorkbook(path, target, { sheet, onNote, signal: service.signal });
        files.push(target);
      }
    }
    return work(files);
  });
}

async function convertWorkbook(
  path: string,
  target: string,
  { sheet, onNote, signal }: Pick<ConvertOptions, 'sheet' | 'onNote'> & { signal: AbortSignal },
): Promise<void> {
  try {
    const bytes = await readWorkbook(path);
    const sheets = openWorkbook(openZip(bytes, WORKBOOK_UNPACKED_BYTES_MAX));
    const { chosen, width } = chooseSheet(sheets, sheet);
    if (sheets.length > 1)
      onNote(
        `${basename(path)}: sheet "${chosen.name}" is read; the sheets are ${namesOf(sheets)}, and --sheet chooses another one`,
      );
    await writeCsv(chosen, { target, width, signal });
  } catch (error) {
    if (error instanceof ZipError) throw new InputError(path, [{ path: '', message: error.message }]);
    throw error;
  }
}

async function readWorkbook(path: string): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > WORKBOOK_BYTES_MAX)
    throw new ZipError(`is larger than ${WORKBOOK_BYTES_MAX / 1024 / 1024} MiB; save the sheet as CSV`);
  const bytes = await readFile(path);
  if (bytes.length >= 4 && bytes.readUInt32BE(0) === 0xd0_cf_11_e0)
    throw new ZipError(
      'is an old .xls file, or is protected by a password; save it as .xlsx without a password',
    );
  return bytes;
}

/** The sheet, and its number of columns. */
function chooseSheet(
  sheets: readonly WorkbookSheet[],
  name: string | undefined,
): { chosen: WorkbookSheet; width: number } {
  if (name !== undefined) {
    const chosen = sheets.find((one) => one.name === name);
    if (!chosen) throw new ZipError(`has no sheet "${name}"; its sheets are ${namesOf(sheets)}`);
    const width = widthOf(chosen);
    if (width === 0) throw new ZipError(`has no rows in sheet "${name}"`);
    return { chosen, width };
  }
  for (const chosen of sheets.filter(({ isHidden }) => !isHidden)) {
    const width = widthOf(chosen);
    if (width > 0) return { chosen, width };
  }
  throw new ZipError('has no rows');
}

function namesOf(sheets: readonly WorkbookSheet[]): string {
  return sheets.map(({ name }) => `"${name}"`).join(', ');
}

/** The number of columns. @throws ZipError if all rows would have too many cells */
function widthOf(sheet: WorkbookSheet): number {
  let width = 0;
  let rows = 0;
  for (const cells of sheet.rows()) {
    const last = cells.findLastIndex((cell) => cell !== '');
    width = Math.max(width, last + 1);
    if (last >= 0) rows += 1;
    if (rows * width > WORKBOOK_CELLS_MAX)
      throw new ZipError(
        `has more than ${WORKBOOK_CELLS_MAX.toLocaleString('en')} cells in sheet "${sheet.name}", with those that are empty; remove columns, or split it`,
      );
  }
  return width;
}

/** Rows without cells are left out. All rows have the same number of cells. */
async function writeCsv(
  sheet: WorkbookSheet,
  { target, width, signal }: { target: string; width: number; signal: AbortSignal },
): Promise<void> {
  const file = createWriteStream(target, { mode: 0o600 });
  let rows = 0;
  for (const cells of sheet.rows()) {
    if (cells.every((cell) => cell === '')) continue;
    const line = Array.from({ length: width }, (_, index) => csvCell(cells[index] ?? '')).join(',');
    if (!file.write(`${line}\n`)) await once(file, 'drain');
    rows += 1;
    if (rows % TURN_ROWS > 0) continue;
    await nextTurn();
    signal.throwIfAborted();
  }
  file.end();
  await finished(file);
}

/** A cell in one line. Headings of sheets often have several. */
function csvCell(text: string): string {
  const flat = text.replace(/\s*[\r\n]+\s*/g, ' ');
  return /[",;\t|]/.test(flat) ? `"${flat.replaceAll('"', '""')}"` : flat;
}
