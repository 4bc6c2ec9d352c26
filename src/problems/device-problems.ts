import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import type { Problem } from '../lib/errors.ts';
import { isPattern } from '../roles/resolve-roles.ts';
import { query } from '../warehouse/query.ts';
import { quotedNames } from './problem-words.ts';

/** Configured devices and sources without any energy, if others have energy. */
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
      const message = `device ${device.id} has never had energy: correct the id, or remove the device`;
      return [{ path: `devices.${index}.id`, message }];
    }
    const missing = (path: string, source: string): Problem[] =>
      sources.includes(source)
        ? []
        : [
            {
              path: `devices.${index}.${path}`,
              message: `source "${source}" has never had energy; the device has ${quotedNames(sources)}: correct the name, or remove the source`,
            },
          ];
    return [
      ...(device.totalSource === undefined ? [] : missing('totalSource', device.totalSource)),
      ...(device.sources ?? []).flatMap((source) => missing('sources', source)),
    ];
  });
  problems.push(...roleProblems(workgroup, seen));
  if (totalSource !== undefined && ![...seen.values()].some((sources) => sources.includes(totalSource))) {
    const message = `source "${totalSource}" has never had energy, so devices are the sums of their sources: correct the name, or remove totalSource`;
    problems.push({ path: 'totalSource', message });
  }
  return problems;
}

/** Roles of sources that never had energy. The role is then missing in every balance. */
function roleProblems(
  { roles, devices }: WorkgroupConfig,
  seen: ReadonlyMap<string, readonly string[]>,
): Problem[] {
  return roles.flatMap(({ device, source, role }, index): Problem[] => {
    if (device === undefined || source === undefined || isPattern(source)) return [];
    const sources = seen.get(findDevice({ devices }, device) ?? device);
    if (!sources || sources.includes(source)) return [];
    const message = `source "${source}" has never had energy, so its ${role} is unknown; the device has ${quotedNames(sources)}: correct the name, or remove it`;
    return [{ path: `roles.${index}.source`, message }];
  });
}
