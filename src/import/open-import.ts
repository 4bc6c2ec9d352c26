import type { DuckDBDataChunk } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config.ts';
import type { NameTable } from '../contract/columns.ts';
import type { UtcMs } from '../time.ts';
import { createDevices } from './devices.ts';
import { expectedRows } from './expected-rows.ts';
import { createRowFiller, type RowFiller } from './fill.ts';
import { createLocalClock } from './local-time.ts';
import { type Mapping, mappedColumns } from './mapping.ts';
import { openReader, unreadable } from './reader.ts';
import { createRejections, type Rejections } from './rejections.ts';
import { selectRows } from './select.ts';
import { openSource } from './source-file.ts';

/** A file that is read as a mapping says. */
export interface OpenImport {
  /** Its rows in their order, some two thousand at a time. Once. */
  chunks(): AsyncGenerator<DuckDBDataChunk>;
  filler: RowFiller;
  rejections: Rejections;
  /** About how many rows it has, where that can be told without reading it. */
  rowsExpected: number | undefined;
  /** Rejects the lines that are no rows, which the reader knows of once it has read everything. */
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

/** A line has an error for each cell that is missing. */
const BROKEN_LINES = `SELECT line::DOUBLE, lower(arg_min(error_type::VARCHAR, column_idx)), left(any_value(csv_line), 2000)
  FROM reject_errors GROUP BY line ORDER BY line`;

/** @throws InputError with everything in which file and mapping do not fit */
export async function openImport(options: OpenImportOptions): Promise<OpenImport> {
  const { mapping, workgroup } = options;
  const devices = createDevices(workgroup, mapping);
  const reader = await openReader(options.path, options);
  const { connection, path } = reader;
  try {
    const wanted = [...new Set(mappedColumns(mapping).map(({ column }) => column))];
    const source = await openSource(reader, mapping, wanted);
    const selection = selectRows(path, source, mapping);
    // What is wrong with a pattern of times is found here.
    await connection.prepare(selection.sql).catch((error: unknown) => {
      throw unreadable(path, error);
    });
    const rejections = createRejections();
    const clock = createLocalClock(mapping.time.zone ?? workgroup.timezone);
    return {
      rejections,
      rowsExpected: await expectedRows(reader, source),
      filler: createRowFiller({ ...options, selection, devices, clock, rejections }),
      async *chunks() {
        try {
          const result = await connection.stream(selection.sql);
          for (
            let chunk = await result.fetchChunk();
            chunk && chunk.rowCount > 0;
            chunk = await result.fetchChunk()
          ) {
            yield chunk;
          }
        } catch (error) {
          throw unreadable(path, error);
        }
      },
      async rejectBrokenLines() {
        if (source.format !== 'csv') return;
        const found = await connection.stream(BROKEN_LINES);
        for (
          let chunk = await found.fetchChunk();
          chunk && chunk.rowCount > 0;
          chunk = await found.fetchChunk()
        ) {
          for (const [line, error, content] of chunk.getRows()) {
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
