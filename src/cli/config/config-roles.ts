import { existsSync } from 'node:fs';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { lakeFolder } from '../../pipeline/assignment.ts';
import { createRoleResolver, keyText, type SourceKey } from '../../roles/resolve-roles.ts';
import { type RoleSuggestion, suggestRole } from '../../roles/suggest-roles.ts';

/** Roles that the names of sources suggest, for one workgroup. */
interface RoleSuggestions {
  workgroupId: string;
  /** One entry for each name. */
  roles: Array<Pick<RoleSuggestion, 'source' | 'role' | 'reason'> & { devices: number }>;
  /** Names of sources that suggest no role. Only devices with several sources are listed. */
  unclear: string[];
}

/**
 * Suggests roles for sources without a role, by their names. The sources come from the published lake and
 * from the configuration. Workgroups without open sources are left out.
 */
export async function suggestedRoles(config: Config): Promise<RoleSuggestions[]> {
  const published = await publishedSources(config);
  return config.workgroups.flatMap((workgroup) => {
    const found = suggestionsOf(workgroup, published.get(workgroup.id) ?? []);
    return found.roles.length + found.unclear.length === 0 ? [] : [found];
  });
}

function suggestionsOf(workgroup: WorkgroupConfig, published: readonly SourceKey[]): RoleSuggestions {
  const resolver = createRoleResolver(workgroup);
  const known = new Map([...published, ...namedSources(workgroup)].map((key) => [keyText(key), key]));
  const open = [...known.values()].filter((key) => resolver.spansOf(key).length === 0);
  const roles: RoleSuggestions['roles'] = [];
  const unclear: string[] = [];
  for (const [source, keys] of Map.groupBy(open, (key) => key.source)) {
    const suggested = suggestRole(source);
    if (suggested) roles.push({ source, ...suggested, devices: keys.length });
    else if (keys.some(({ device }) => [...known.values()].filter((key) => key.device === device).length > 1))
      unclear.push(source);
  }
  return { workgroupId: workgroup.id, roles, unclear };
}

/** Sources that the configuration names outside of roles. */
function namedSources({ devices, meters, sites }: WorkgroupConfig): SourceKey[] {
  return [
    ...devices.flatMap(({ id, sources = [], totalSource }) =>
      [...sources, ...(totalSource === undefined ? [] : [totalSource])].map((source) => ({
        device: id,
        source,
      })),
    ),
    ...meters.flatMap(({ device, source }) =>
      device === undefined || source === undefined ? [] : [{ device, source }],
    ),
    ...sites.flatMap((site) =>
      site.devices.flatMap(({ id, source }) => (source === undefined ? [] : [{ device: id, source }])),
    ),
  ];
}

/**
 * The sources in the published lake of each workgroup. Empty if nothing is published or the lake cannot be
 * read.
 */
async function publishedSources(config: Config): Promise<Map<string, SourceKey[]>> {
  const sources = new Map<string, SourceKey[]>();
  const lakeDir = lakeFolder(config);
  if (!existsSync(lakeDir)) return sources;
  const { openLakeReader } = await import('../../report/lake/lake-reader.ts');
  const { queryText } = await import('../../warehouse/query.ts');
  const lake = await openLakeReader({ lakeDir });
  try {
    for (const { id } of config.workgroups) {
      const generation = await lake.newestGeneration(id).catch(() => undefined);
      const files = generation?.files('series') ?? [];
      if (!generation || files.length === 0) continue;
      const rows = await lake.run({ generation, files }, (connection) =>
        queryText<{ device: string; source: string }>(
          connection,
          'SELECT DISTINCT device::VARCHAR AS device, source FROM read_parquet($files, hive_partitioning = false) ORDER BY ALL',
          { files: files.map(generation.path) },
        ),
      );
      sources.set(id, rows);
    }
  } finally {
    await lake.close();
  }
  return sources;
}

/** A YAML block to paste, with the reasons as comments. */
export function describeSuggestions({ workgroupId, roles, unclear }: RoleSuggestions): string {
  const lines = [
    `what does each source of workgroup "${workgroupId}" measure? These are suggestions only. Paste the correct ones below the workgroup:`,
    '    roles:',
    ...roles.map(({ source, role, reason, devices }) => {
      const of = devices === 1 ? '' : `, of ${devices} devices`;
      return `      - { source: ${quoted(source)}, role: ${role} }   # ${reason}${of}`;
    }),
    ...unclear.map(
      (source) => `      # - { source: ${quoted(source)}, role: ... }   # its name suggests no role`,
    ),
  ];
  return lines.join('\n');
}

function quoted(source: string): string {
  return /^[A-Za-z][\w-]*$/.test(source) ? source : JSON.stringify(source);
}
