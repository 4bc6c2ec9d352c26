import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { NameTable } from '../decode/message-columns.ts';
import { createLocalClock } from '../foreign-table/local-clock.ts';
import { sqlString } from '../lib/sql-text.ts';
import type { UtcMs } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { expectedRows } from './expected-rows.ts';
import { createDevices } from './import-devices.ts';
import { type Mapping, mappedColumns } from './import-mapping.ts';
import { fileProblem, openReader, unreadable } from './open-reader.ts';
import { createRejections, type Rejections } from './rejections.ts';
import { CONTENT_CHARACTERS_MAX, createRowFiller, type RowFiller } from './row-filler.ts';
import { rowColumns, type Selection, selectRows } from './select-rows.ts';
import { openSource } from './source-file.ts';

/** A file that is read with a mapping. */
export interface OpenImport {
  /** Its rows in their order, about two thousand at a time. Can be called once. */
  chunks(): AsyncGenerator<DuckDBDataChunk>;
  filler: RowFiller;
  rejections: Rejections;
  /** The estimated number of rows, if known without reading the file. */
  rowsExpected: number | undefined;
  /** Rejects broken lines. DuckDB knows them only after it has read the whole file. */
  rejectBrokenLines(): Promise<void>;
  close(): void;
}

export interface OpenImportOptions {
  path: string;
  table: string;
  mapping: Mapping;
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'timezone'>;
  names: NameTable;
  baseOffset: bigint;
  storeTimeMs: UtcMs;
  threads: number;
}

/** @throws InputError with all conflicts between file and mapping */
export async function openImport(options: OpenImportOptions): Promise<OpenImport> {
  const { mapping, workgroup } = options;
  const devices = createDevices(workgroup, mapping);
  const reader = await openReader(options.path, options);
  const { connection, path } = reader;
  try {
    const columns = [...new Set(mappedColumns(mapping).map(({ column }) => column))];
    const source = await openSource(reader, mapping, columns);
    const selection = selectRows(path, source, mapping);
    // Finds errors in the pattern of times.
    await connection.prepare(selection.sql).catch((error: unknown) => {
      throw unreadable(path, error);
    });
    const rejections = createRejections();
    const clock = createLocalClock(mapping.time.zone ?? workgroup.timezone);
    return {
      rejections,
      rowsExpected: await expectedRows(reader, source),
      filler: createRowFiller({ ...options, selection, devices, clock, rejections }),
      chunks: () => readToEnd(connection, path, selection),
      async rejectBrokenLines() {
        if (source.format !== 'csv') return;
        const found = await connection.stream(loadSql('import/list_broken_lines'), {
          content_max: CONTENT_CHARACTERS_MAX,
        });
        for await (const rows of found.yieldRows()) {
          for (const [line, error, content] of rows) {
            const detail = `line ${line}: ${error}`;
            rejections.add({
              reason: 'malformed_row',
              detail,
              content: String(content ?? ''),
              offset: undefined,
            });
          }
        }
      },
      close: reader.close,
    };
  } catch (error) {
    reader.close();
    throw error;
  }
}

/**
 * An additional last row marks the end of the file. Without it a failure would look like the end, because a
 * stream of DuckDB then ends without an error.
 */
const END = 'end of file';

/** @throws InputError if the file cannot be read to its end */
async function* readToEnd(
  connection: DuckDBConnection,
  path: string,
  { sql, width }: Selection,
): AsyncGenerator<DuckDBDataChunk> {
  const last = Array.from({ length: width }, (_, column) =>
    column === rowColumns.broken ? sqlString(END) : 'NULL',
  );
  const result = await connection
    .stream(`${sql} UNION ALL SELECT ${last.join(', ')}`)
    .catch((error: unknown) => {
      throw unreadable(path, error);
    });
  let rows = 0;
  let isComplete = false;
  // Broken lines are known when the statement has ended, which is after the last turn of this loop.
  for await (const chunk of result) {
    isComplete = chunk.getColumnVector(rowColumns.broken).getItem(chunk.rowCount - 1) === END;
    if (isComplete) chunk.rowCount -= 1;
    rows += chunk.rowCount;
    if (chunk.rowCount > 0) yield chunk;
  }
  if (isComplete) return;
  // The stream has failed without an error. The same statement without a stream gives the error message.
  await connection.run(`SELECT max(hash(rows)) FROM (${sql}) AS rows`).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  throw fileProblem(path, `cannot be read beyond row ${rows}`);
}
