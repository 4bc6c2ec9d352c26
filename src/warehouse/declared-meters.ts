import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { absentInAll } from '../config/meters.ts';
import { query } from './query.ts';

/** The declarations of meters and sites. */
export type DeclaredMeters = Partial<Pick<WorkgroupConfig, 'meters' | 'sites'>>;

/**
 * Stores the declared meters and the members of sites in temporary tables, from which the lake's tables are
 * made.
 */
export async function declareMeters(
  connection: DuckDBConnection,
  { meters = [], sites = [] }: DeclaredMeters,
): Promise<void> {
  const members = sites.flatMap(({ name: site, meters: codes, devices }) => [
    ...codes.map((member) => ({ site, ...member })),
    ...devices.map(({ id, ...member }) => ({ site, device: id, ...member })),
  ]);
  await query(connection, 'meters/declare_meters', { meters: JSON.stringify(meters) });
  await query(connection, 'meters/declare_members', { members: JSON.stringify(members) });
  const absent = [
    ...sites.flatMap(({ name: site, absent }) => absent.map((role) => ({ site, role }))),
    ...absentInAll(sites).map((role) => ({ role })),
  ];
  await query(connection, 'meters/declare_absent', { absent: JSON.stringify(absent) });
}
