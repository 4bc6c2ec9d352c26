import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config.ts';
import { query } from './query.ts';

/** What the configuration says of devices: which sources they have, and which stands for the whole. */
export type DeclaredDevices = Pick<WorkgroupConfig, 'devices' | 'totalSource'>;

/** Brings the declared devices into the temporary table that `devices/sources` reads. */
export async function declareDevices(
  connection: DuckDBConnection,
  { devices, totalSource }: DeclaredDevices,
): Promise<void> {
  await query(connection, 'devices/declare', {
    devices: JSON.stringify(devices.map(({ id, totalSource, sources }) => ({ id, totalSource, sources }))),
    total_source: totalSource ?? null,
  });
}
