import type { DuckDBConnection } from '@duckdb/node-api';
import type { Problem } from '../lib/errors.ts';
import { formatInstant } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';

/** Series that the roll-up has set aside, because it fails for them. */
export async function setAsideProblems(connection: DuckDBConnection): Promise<Problem[]> {
  const rows = await query<{
    position: number | null;
    device: string;
    source: string;
    since_ms: number;
    error: string;
    version: string;
  }>(connection, 'rollup/list_set_aside');
  return rows.flatMap(({ position, device, source, since_ms, error, version }) => {
    if (position === null) return [];
    const by = version === '' ? '' : `, by Wattline ${version}`;
    const message = `device ${device}, source ${source} has been set aside since ${formatInstant(since_ms)}: ${error}${by}. Its readings are kept, its days are unavailable. A new version of Wattline or changed settings of the stream compute it again; "wattline retry ${device}" does it now`;
    return [{ path: `energyStreams.${position}.field`, message }];
  });
}
