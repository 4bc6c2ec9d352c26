import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Problem } from '../lib/errors.ts';
import { query } from '../warehouse/query.ts';
import { listed } from './problem-words.ts';

/**
 * Streams whose `as` takes what is not one source for one: a source that messages of the table name as well, or several sources of a
 * device at once. Their readings would be mixed.
 */
export async function sourceProblems(
  connection: DuckDBConnection,
  { energyStreams }: WorkgroupConfig,
): Promise<Problem[]> {
  if (energyStreams.every(({ as }) => as === undefined)) return [];
  const clashes = await query<ClashRow>(connection, 'problems/find_source_clashes');
  const problems = clashes.flatMap(({ position, source, device, field, other_position }) => {
    const message = `messages of table "${energyStreams[position]?.table}" name a source "${source}" too, such as those of device ${device}, of which energyStreams.${other_position} reads "${field}": each day of the source would be read from one of the two alone; choose another name`;
    return energyStreams[position] ? [{ path: `energyStreams.${position}.as`, message }] : [];
  });
  for (const [position, { table, field, as }] of energyStreams.entries()) {
    if (as === undefined) continue;
    const merged = await query<MergedRow>(connection, 'problems/find_merged_sources', { table, field });
    for (const { device, sources } of merged) {
      const message = `device ${device} sends "${field}" for the sources ${listed(sources.items.map((name) => `"${name}"`))}, and all are booked as "${as}", as if they were one: remove as, or choose a field that one of them has`;
      problems.push({ path: `energyStreams.${position}.as`, message });
    }
  }
  return problems;
}

type ClashRow = { position: number; source: string; device: string; field: string; other_position: number };
type MergedRow = { device: string; sources: { items: string[] } };
