import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { createRoleResolver, type RoleSpan } from '../roles/resolve-roles.ts';
import { peakColumns, peakRows, roleSpanColumns, roleSpanRows } from '../roles/role-rows.ts';
import { jsonRowsSql } from './json-rows.ts';
import { loadSql } from './load-sql.ts';
import { query, queryText } from './query.ts';

/** The declarations of devices: their sources, total sources and roles. */
export type DeclaredDevices = Pick<WorkgroupConfig, 'devices' | 'totalSource'> &
  Partial<Pick<WorkgroupConfig, 'roles'>>;

/**
 * Stores the declarations of devices in temporary tables: declared_device, declared_peak, role_span, and
 * device_source, which says which sources count for a device (see balance/find_device_source).
 */
export async function declareDevices(connection: DuckDBConnection, declared: DeclaredDevices): Promise<void> {
  const { devices, totalSource } = declared;
  await query(connection, 'devices/declare_devices', {
    devices: JSON.stringify(
      devices.map(({ id, name, totalSource, sources, energyRole }) => ({
        id,
        name,
        totalSource,
        sources,
        energyRole,
      })),
    ),
    total_source: totalSource ?? null,
  });
  await createTable(connection, 'declared_peak', jsonRowsSql('rows', peakColumns), peakRows(devices));
  await query(connection, 'devices/collect_known_sources');
  const spans = roleSpanRows(await resolveRoles(connection, declared));
  await createTable(connection, 'role_span', jsonRowsSql('rows', roleSpanColumns), spans);
  await createTable(connection, 'role', loadSql('balance/find_role'));
  await createTable(connection, 'device_source', loadSql('balance/find_device_source'));
}

/** The roles of all known sources. Without any configured role the list is empty. */
async function resolveRoles(connection: DuckDBConnection, declared: DeclaredDevices): Promise<RoleSpan[]> {
  if ((declared.roles ?? []).length === 0) return [];
  const known = await query<{ device: string; source: string }>(connection, 'devices/list_known_sources');
  return createRoleResolver(declared).spans(known);
}

async function createTable(
  connection: DuckDBConnection,
  name: string,
  select: string,
  rows?: string,
): Promise<void> {
  await queryText(
    connection,
    `CREATE OR REPLACE TEMP TABLE ${name} AS\n${select}`,
    rows === undefined ? {} : { rows },
  );
}
