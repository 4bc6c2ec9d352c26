import { meterSchema } from '../../src/config/meters.ts';
import { readText, type TextFormat, type UploadTopic } from '../../src/upload/read-upload.ts';
import { RefusedFile } from '../../src/upload/refusals.ts';
import type { UploadOptions } from '../../src/upload/upload-options.ts';
import type { BudgetRow, MeterRow, Upload } from '../../src/upload/upload-rows.ts';

export const meters = [
  { code: 'GRID-1', direction: 'import' },
  { code: 'GRID-2', multiplier: 40 },
  { code: 'PV', device: '7c9e6679-7425-40de-944b-e07fc1f90ae7' },
].map((meter) => meterSchema.parse(meter));

interface Told {
  options?: UploadOptions;
  format?: TextFormat;
}

function read(topic: UploadTopic, text: string | Uint8Array, { options = {}, format = 'csv' }: Told): Upload {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return readText(bytes, format, { topic, name: 'file.csv', meters, options });
}

export function readMeters(text: string | Uint8Array, told: Told = {}): MeterRow[] {
  const upload = read('meter-data', text, told);
  if (upload.kind === 'budget') throw new Error('a budget was read');
  return upload.rows;
}

export function readBudgets(text: string | Uint8Array, told: Told = {}): BudgetRow[] {
  const upload = read('budget', text, told);
  if (upload.kind !== 'budget') throw new Error('meter data were read');
  return upload.rows;
}

/** What is wrong with a file, as `line:column: message`. */
export function refusalOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof RefusedFile)
      return error.lines.map(({ line, column = '', message }) => `${line}:${column}: ${message}`);
    throw error;
  }
  throw new Error('nothing was refused');
}
