import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { DAY_MS, type UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { type ImportSummary, summarizeImports } from './import-summary.ts';

/** A finished import, and its effect. */
export interface LandedImport {
  path: string;
  landedAtMs: UtcMs;
  rowsLanded: number;
  rowsRejected: number;
  summary: ImportSummary;
}

const NEWEST_MAX = 3;
const SINCE_MS = 7 * DAY_MS;

/** The newest imports of the last week, newest first. */
export async function newestImports(
  connection: DuckDBConnection,
  workgroup: Pick<WorkgroupConfig, 'energyStreams' | 'timezone'>,
  nowMs: UtcMs,
): Promise<LandedImport[]> {
  const rows = await query<{
    import_id: number;
    path: string;
    table_name: string;
    rows_landed: number;
    rows_rejected: number;
    landed_at_ms: number;
  }>(connection, 'import/find_newest', { since_ms: BigInt(nowMs - SINCE_MS), imports_max: NEWEST_MAX });
  const imports: LandedImport[] = [];
  for (const { import_id, path, table_name, rows_landed, rows_rejected, landed_at_ms } of rows) {
    const chosen = { importIds: [import_id], table: table_name };
    imports.push({
      path,
      landedAtMs: landed_at_ms,
      rowsLanded: rows_landed,
      rowsRejected: rows_rejected,
      summary: await summarizeImports(connection, chosen, workgroup),
    });
  }
  return imports;
}
