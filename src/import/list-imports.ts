import type { DuckDBConnection } from '@duckdb/node-api';
import type { UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';

/** An import in the list. */
export interface ListedImport {
  importId: number;
  path: string;
  table: string;
  state: 'landing' | 'landed' | 'dropped';
  bytes: number;
  rowsRead: number;
  rowsLanded: number;
  rowsRejected: number;
  /** Rejected rows by reason. */
  rejected: Record<string, number>;
  startedAtMs: UtcMs;
  updatedAtMs: UtcMs;
}

/** Imports, newest first, with ids below `beforeId`. */
export async function listImports(
  connection: DuckDBConnection,
  { beforeId = Number.MAX_SAFE_INTEGER, limit }: { beforeId?: number | undefined; limit: number },
): Promise<ListedImport[]> {
  const rows = await query<ImportRow>(connection, 'import/list_imports', {
    before_id: BigInt(beforeId),
    rows_max: BigInt(limit),
  });
  return rows.map((row) => ({
    importId: row.import_id,
    path: row.path,
    table: row.table_name,
    state: row.state as ListedImport['state'],
    bytes: row.file_bytes,
    rowsRead: row.rows_read,
    rowsLanded: row.rows_landed,
    rowsRejected: row.rows_rejected,
    rejected: JSON.parse(row.rejected) as Record<string, number>,
    startedAtMs: row.started_at_ms,
    updatedAtMs: row.updated_at_ms,
  }));
}

type ImportRow = {
  import_id: number;
  path: string;
  table_name: string;
  state: string;
  file_bytes: number;
  rows_read: number;
  rows_landed: number;
  rows_rejected: number;
  rejected: string;
  started_at_ms: number;
  updated_at_ms: number;
};
