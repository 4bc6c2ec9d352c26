import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WorkbookSheet } from '../../foreign-table/open-workbook.ts';
import { csvLine, isWorkbook, readWorkbook, requireWorkbook } from '../../foreign-table/read-workbook.ts';
import { ZipError } from '../../foreign-table/read-zip.ts';
import { InputError } from '../../lib/errors.ts';
import type { Service } from '../../service/service.ts';
import { inTempFolder } from '../temp-folder.ts';

/** Ctrl-C is noticed after this number of rows. */
const TURN_ROWS = 5_000;

interface ConvertOptions {
  service: Service;
  /** The sheet to read. Default: the first visible one with rows. */
  sheet: string | undefined;
  onNote(note: string): void;
}

/**
 * A file to read, and the path that people see. The two differ for a workbook and for Home Assistant, which
 * are read from temporary CSV files.
 */
export interface NamedFile {
  path: string;
  shownPath: string;
}

/**
 * Calls `work` with the files, and with a CSV file in the place of each XLSX workbook. The same workbook
 * always gives the same CSV file, so an interrupted import continues.
 * @throws InputError if a workbook cannot be read
 */
export async function withoutWorkbooks<Result>(
  paths: readonly string[],
  { service, sheet, onNote }: ConvertOptions,
  work: (files: NamedFile[]) => Promise<Result>,
): Promise<Result> {
  if (sheet !== undefined) requireWorkbook(paths);
  if (!paths.some((path) => isWorkbook(path))) return work(paths.map((path) => ({ path, shownPath: path })));
  return inTempFolder('import', service, async (folder) => {
    const files: NamedFile[] = [];
    for (const [index, path] of paths.entries()) {
      if (!isWorkbook(path)) files.push({ path, shownPath: path });
      else {
        const own = join(folder, String(index));
        await mkdir(own);
        const target = join(own, `${basename(path)}.csv`);
        await convertWorkbook(path, target, { sheet, onNote, signal: service.signal });
        files.push({ path: target, shownPath: path });
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
    const { chosen, width, note } = await readWorkbook(path, sheet);
    if (note !== undefined) onNote(note);
    await writeCsv(chosen, { target, width, signal });
  } catch (error) {
    if (error instanceof ZipError) throw new InputError(path, [{ path: '', message: error.message }]);
    throw error;
  }
}

/** Rows without cells are left out. All rows have the same number of cells. */
async function writeCsv(
  sheet: WorkbookSheet,
  { target, width, signal }: { target: string; width: number; signal: AbortSignal },
): Promise<void> {
  const file = createWriteStream(target, { mode: 0o600 });
  let rows = 0;
  for await (const cells of sheet.rows()) {
    if (cells.every((cell) => cell === '')) continue;
    if (!file.write(`${csvLine(cells, width)}\n`)) await once(file, 'drain');
    rows += 1;
    if (rows % TURN_ROWS > 0) continue;
    await nextTurn();
    signal.throwIfAborted();
  }
  file.end();
  await finished(file);
}
