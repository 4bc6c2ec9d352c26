import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { InputError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { openWorkbook, type WorkbookSheet } from './open-workbook.ts';
import { openZip, ZipError } from './read-zip.ts';

const WORKBOOK = /\.xls[xm]?$/i;
/** A workbook is in memory as a whole. */
const WORKBOOK_BYTES_MAX = 128 * MEBIBYTE;
/** A small file can unpack to a very large one. */
const WORKBOOK_UNPACKED_BYTES_MAX = 400 * MEBIBYTE;
/**
 * Cells of a sheet, empty cells included. A sheet with one cell far to the right in each row would fill the
 * disk.
 */
const WORKBOOK_CELLS_MAX = 20_000_000;

/** True if a file has the name of a workbook. */
export function isWorkbook(path: string): boolean {
  return WORKBOOK.test(path);
}

/** @throws InputError if no file is a workbook, so that an option for sheets would do nothing */
export function requireWorkbook(paths: readonly string[]): void {
  if (!paths.some(isWorkbook)) throw new InputError('--sheet', [{ path: '', message: 'is for XLSX files' }]);
}

interface ReadWorkbook {
  chosen: WorkbookSheet;
  /** The number of its columns. */
  width: number;
  /** Says which sheet is read. Undefined if there is only one. */
  note: string | undefined;
}

/**
 * Opens a sheet of an XLSX file.
 * @param sheet its name; undefined: the first visible one with rows
 * @throws ZipError if it is not a workbook, is too large, or has no such sheet
 */
export async function readWorkbook(path: string, sheet: string | undefined): Promise<ReadWorkbook> {
  const archive = await openZip(await readBytes(path), WORKBOOK_UNPACKED_BYTES_MAX);
  const sheets = await openWorkbook(archive, {
    cells: WORKBOOK_CELLS_MAX,
    characters: WORKBOOK_UNPACKED_BYTES_MAX,
  });
  const read = await chooseSheet(sheets, sheet);
  const note =
    sheets.length > 1
      ? `${basename(path)}: sheet "${read.chosen.name}" is read; the sheets are ${sheetNames(sheets)}, and --sheet chooses another one`
      : undefined;
  return { ...read, note };
}

/** A row of a sheet as a line of CSV, without its end. */
export function csvLine(cells: readonly string[], width: number): string {
  return Array.from({ length: width }, (_, index) => oneLineCell(cells[index] ?? '')).join(',');
}

async function readBytes(path: string): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > WORKBOOK_BYTES_MAX)
    throw new ZipError(`is larger than ${WORKBOOK_BYTES_MAX / MEBIBYTE} MiB; save the sheet as CSV`);
  const bytes = await readFile(path);
  if (bytes.length >= 4 && bytes.readUInt32BE(0) === 0xd0_cf_11_e0)
    throw new ZipError(
      'is an old .xls file, or is protected by a password; save it as .xlsx without a password',
    );
  return bytes;
}

function sheetNames(sheets: readonly WorkbookSheet[]): string {
  return sheets.map(({ name }) => `"${name}"`).join(', ');
}

/** The sheet, and its number of columns. */
async function chooseSheet(
  sheets: readonly WorkbookSheet[],
  name: string | undefined,
): Promise<{ chosen: WorkbookSheet; width: number }> {
  if (name !== undefined) {
    const chosen = sheets.find((one) => one.name === name);
    if (!chosen) throw new ZipError(`has no sheet "${name}"; its sheets are ${sheetNames(sheets)}`);
    const width = await widthOf(chosen);
    if (width === 0) throw new ZipError(`has no rows in sheet "${name}"`);
    return { chosen, width };
  }
  for (const chosen of sheets.filter(({ isHidden }) => !isHidden)) {
    const width = await widthOf(chosen);
    if (width > 0) return { chosen, width };
  }
  throw new ZipError('has no rows');
}

/** The number of columns. @throws ZipError if all rows would have too many cells */
async function widthOf(sheet: WorkbookSheet): Promise<number> {
  let width = 0;
  let rows = 0;
  for await (const cells of sheet.rows()) {
    const last = cells.findLastIndex((cell) => cell !== '');
    width = Math.max(width, last + 1);
    if (last >= 0) rows += 1;
    if (rows * width > WORKBOOK_CELLS_MAX)
      throw new ZipError(
        `has more than ${formatCount(WORKBOOK_CELLS_MAX)} cells in sheet "${sheet.name}", with those that are empty; remove columns, or split it`,
      );
  }
  return width;
}

/** A cell in one line. Headings of sheets often have several lines. */
function oneLineCell(text: string): string {
  // A pattern with spaces around the line ends would take time that grows with the square of the length.
  const flat = /[\r\n]/.test(text)
    ? text
        .split(/[\r\n]+/)
        .map((line) => line.trim())
        .join(' ')
    : text;
  return /[",;\t|]/.test(flat) ? `"${flat.replaceAll('"', '""')}"` : flat;
}
