import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { sqlString } from '../lib/sql-text.ts';
import type { Reader } from './open-reader.ts';
import type { SourceFile } from './source-file.ts';

const SAMPLE_BYTES = 64 * 1024;

/**
 * Estimates the number of rows. For Parquet it is exact, for text it follows from a sample, and for packed
 * files it is undefined.
 */
export async function expectedRows(
  { connection, path, pattern, kind }: Reader,
  { format }: SourceFile,
): Promise<number | undefined> {
  if (format === 'parquet') {
    const found = await connection.runAndReadAll(
      `SELECT num_rows::DOUBLE FROM parquet_file_metadata(${sqlString(pattern)})`,
    );
    return Number(found.getRows()[0]?.[0]);
  }
  return kind.compression === 'none' ? expectedLines(path) : undefined;
}

function expectedLines(path: string): number | undefined {
  const file = openSync(path, 'r');
  try {
    const sample = Buffer.alloc(SAMPLE_BYTES);
    const bytes = readSync(file, sample);
    const lines = sample.subarray(0, bytes).filter((byte) => byte === 0x0a).length;
    return lines === 0 ? undefined : Math.round((fstatSync(file).size / bytes) * lines);
  } finally {
    closeSync(file);
  }
}
