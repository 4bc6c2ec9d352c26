import type { DuckDBConnection } from '@duckdb/node-api';
import { query } from '../warehouse/query.ts';

type SinkingRow = { series_id: number; frame: bigint; t: bigint; v: number; mark: number; jitter_wh: number };

/**
 * Where registers sink: each fall is within the jitter, and all together are not. A mark that is held for ever would swallow what the
 * register counts below it, so the mark gives way and stays the jitter above the reading. That has to go reading by reading, which SQL
 * cannot; there is hardly ever one.
 */
export async function findSunk(connection: DuckDBConnection): Promise<void> {
  const rows = await query<SinkingRow>(connection, 'rollup/sinking');
  const sunk = [...Map.groupBy(rows, ({ series_id, frame }) => `${series_id} ${frame}`).values()].flatMap(
    sunkOf,
  );
  await query(connection, 'rollup/add-sunk', { sunk: JSON.stringify(sunk) });
}

function sunkOf(rows: readonly SinkingRow[]) {
  let held = rows[0]!.mark;
  return rows.flatMap(({ series_id, t, v, mark, jitter_wh }) => {
    held = Math.max(held, mark);
    if (v >= held - jitter_wh) return [];
    held = v + jitter_wh;
    return [{ series_id, t: Number(t) }];
  });
}
