import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { FastifyReply } from 'fastify';
import type { LakeReader } from '../lake/lake-reader.ts';
import { copyRows, type RowFormat } from './copy-rows.ts';
import { contentTypes } from './row-format.ts';
import type { ReportRows } from './row-select.ts';

/** The long rows of a report. */
export interface RowAnswer {
  /** The name of a downloaded file, without its ending. */
  name: string;
  /** Further facts that decide the rows. The facts of the answer in JSON always count. */
  facts?: unknown;
  select(signal: AbortSignal): ReportRows | Promise<ReportRows>;
  /** Refuses rows that are too many. */
  check?: (connection: DuckDBConnection) => Promise<void>;
}

/**
 * Answers with rows. They are written to a file first. So a slow caller does not keep a connection to the
 * database busy, and an error can still be reported.
 * @returns the number of bytes
 */
export async function sendRows(
  reply: FastifyReply,
  lake: LakeReader,
  { name, select, check }: RowAnswer,
  format: RowFormat,
  signal: AbortSignal,
): Promise<{ bytes: number }> {
  const rows = await select(signal);
  const file = await lake.run(
    rows.reads,
    async (connection) => {
      await check?.(connection);
      return writeRows(connection, rows, format, await lake.scratchFolder());
    },
    signal,
  );
  const bytes = await sizeOf(file);
  reply
    .type(contentTypes[format])
    .header('Content-Length', String(bytes))
    .header('Content-Disposition', `attachment; filename="${name}.${format}"`);
  reply.send(file.createReadStream());
  return { bytes };
}

/**
 * Writes the rows to a file and removes the name of the file. The system then deletes the file when it is
 * closed.
 */
async function writeRows(
  connection: DuckDBConnection,
  rows: ReportRows,
  format: RowFormat,
  folder: string,
): Promise<FileHandle> {
  const path = join(folder, randomUUID());
  try {
    await copyRows(connection, rows, format, path);
    return await open(path, 'r');
  } finally {
    await rm(path, { force: true });
  }
}

async function sizeOf(file: FileHandle): Promise<number> {
  try {
    return (await file.stat()).size;
  } catch (error) {
    await file.close();
    throw error;
  }
}
