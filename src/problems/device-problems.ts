import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import type { Problem } from '../lib/errors.ts';
import { isPattern } from '../roles/resolve-roles.ts';
import { query } from '../warehouse/query.ts';
import { nearest } from './problem-words.ts';

/** Devices and sources that are configured and of which there is no energy at all, as long as there is any of others. */
export async function deviceProblems(
  connection: DuckDBConnection,
  workgroup: WorkgroupConfig,
): Promise<Problem[]> {
  const { devices, totalSource } = workgroup;
  const rows = await query<{ device: string; sources: { items: string[] } }>(
    connection,
    'problems/find_sources',
  );
  if (rows.length === 0) return [];
  const seen = new Map(rows.map(({ device, sources }) => [device, sources.items]));
  const problems = devices.flatMap((device, index): Problem[] => {
    const sources = seen.get(device.id);
    if (!sources) {
      const message = `no energy of device ${device.id} has ever come: correct the id, or remove it`;
      return [{ path: `devices.${index}.id`, message }];
    }
    const missing = (path: string, source: string): Problem[] =>
      sources.includes(source)
        ? []
        : [
            {
              path: `devices.${index}.${path}`,
              message: `no energy of source "${source}" has ever come; the device has ${nearest(sources)}: correct the name, or remove it`,
            },
          ];
    return [
      ...(device.totalSource === undefined ? [] : missing('totalSource', device.totalSource)),
      ...(device.sources ?? []).flatMap((source) => missing('sources', source)),
    ];
  });
  problems.push(...roleProblems(workgroup, seen));
  if (totalSource !== undefined && ![...seen.values()].some((sources) => sources.includes(totalSource))) {
    const message = `no energy of a source "${totalSource}" has ever come, so devices are the sums of their sources: correct the name, or remove it`;
    problems.push({ path: 'totalSource', message });
  }
  return problems;
}

/** Entries of roles that name a device and a source of it that has never had energy: what they declare is missing in every balance. */
function roleProblems(
  { roles, devices }: WorkgroupConfig,
  seen: ReadonlyMap<string, readonly string[]>,
): Problem[] {
  return roles.flatMap(({ device, source, role }, index): Problem[] => {
    if (device === undefined || source === undefined || isPattern(source)) return [];
    const sources = seen.get(findDevice({ devices }, device) ?? device);
    if (!sources || sources.includes(source)) return [];
    const message = `no energy of source "${source}" has ever come, so its ${role} is not known; the device has ${nearest(sources)}: correct the name, or remove it`;
    return [{ path: `roles.${index}.source`, message }];
  });
}
