import type { MeterConfig } from '../config/meters.ts';
import { decodeText } from '../foreign-table/text-encoding.ts';
import { clipText } from '../lib/clip-text.ts';
import { isBudgetHeader, readBudgetRows } from './budget-rows.ts';
import { findAmbiguous, findColumns } from './find-columns.ts';
import { isMeterHeader, readMeterRows } from './meter-rows.ts';
import { type ReadTable, readTableCsv } from './read-csv.ts';
import { readJson } from './read-json.ts';
import { createRefusals, type LineProblem, RefusedFile } from './refusals.ts';
import type { UploadOptions } from './upload-options.ts';
import type { Upload } from './upload-rows.ts';
import type { UploadTable } from './upload-table.ts';

/** The content of a file. */
export type UploadTopic = 'meter-data' | 'budget';
export type TextFormat = 'csv' | 'json';

export interface UploadRequest {
  topic: UploadTopic;
  /** The name of the file in messages. */
  name: string;
  meters: readonly MeterConfig[];
  options: UploadOptions;
}

/**
 * Reads a whole text file.
 * @throws RefusedFile with all problems, by line
 */
export function readText(bytes: Uint8Array, format: TextFormat, request: UploadRequest): Upload {
  const text = textOf(bytes, request.name);
  const { topic, options } = request;
  const isHeading = (cells: readonly string[]) => {
    const columns = findColumns(cells, options.columns ?? {});
    return topic === 'budget' ? isBudgetHeader(columns) : isMeterHeader(columns);
  };
  const read: ReadTable =
    format === 'csv' ? readTableCsv(text, { delimiter: options.delimiter, isHeading }) : readJson(text);
  if (read.kind === 'refused') throw refusedError(request.name, read.problems);
  return readTable(read.table, request);
}

/** @throws RefusedFile if the bytes are not text, or several encodings are mixed */
function textOf(bytes: Uint8Array, name: string): string {
  const decoded = decodeText(bytes);
  switch (decoded.kind) {
    case 'text':
      return decoded.text;
    case 'binary':
      throw refusedError(name, [{ line: 0, message: 'is not text; save it as "CSV UTF-8"' }]);
    case 'utf-32':
      throw refusedError(name, [
        { line: 0, message: 'is UTF-32, which cannot be read; save it as "CSV UTF-8"' },
      ]);
    case 'mixed': {
      const problems = decoded.lines.map(({ line, byte }) => ({
        line,
        message: `the byte 0x${byte.toString(16).toUpperCase()} is not UTF-8, but other lines are; save the file as "CSV UTF-8"`,
      }));
      throw refusedError(name, problems);
    }
    default:
      return decoded satisfies never;
  }
}

function refusedError(name: string, problems: readonly LineProblem[]): RefusedFile {
  const refusals = createRefusals();
  for (const { line, column, message } of problems) refusals.add(line, column, message);
  return new RefusedFile(name, refusals.shown, refusals.count);
}

/** Like `readText`, for rows that are already read. */
export function readTable(table: UploadTable, { topic, name, meters, options }: UploadRequest): Upload {
  const refusals = createRefusals();
  const chosenColumns = options.columns ?? {};
  for (const [role, column] of Object.entries(chosenColumns))
    if (!table.columns.includes(column))
      refusals.add(0, column, `is named for ${role}, but the file has no such column`);
  for (const { role, columns } of findAmbiguous(table.columns, chosenColumns)) {
    const [first, second] = columns.map(({ name }) => `"${clipText(name)}"`);
    const which = first === second ? 'exists twice' : `can be the ${role}, and ${second} can be it too`;
    refusals.add(
      0,
      columns[0]!.name,
      `${which}; leave one of them out, or name it (option --column ${role}=<name> of the command)`,
    );
  }
  const columns = findColumns(table.columns, chosenColumns);
  const reading = { table, columns, meters, options, refusals };
  const upload = topic === 'budget' ? readBudgetRows(reading) : readMeterRows(reading);
  if (refusals.count === 0 && upload.rows.length === 0)
    refusals.add(0, undefined, 'has no row below its heading');
  if (refusals.count > 0) throw new RefusedFile(name, refusals.shown, refusals.count);
  return upload;
}
