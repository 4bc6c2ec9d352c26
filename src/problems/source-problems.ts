import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Problem } from '../lib/errors.ts';
import { query } from '../warehouse/query.ts';
import { listed } from './problem-words.ts';
import { searchLimits } from './search-limits.ts';

/** Devices that are named for each stream. */
const MERGED_DEVICES_MAX = 10n;

/**
 * Streams whose `as` mixes several sources: messages of the table name the same source, or a device sends the
 * field for several sources.
 */
export async function sourceProblems(
  connection: DuckDBConnection,
  { energyStreams }: WorkgroupConfig,
): Promise<Problem[]> {
  if (energyStreams.every(({ as }) => as === undefined)) return [];
  const clashes = await query<ClashRow>(connection, 'problems/find_source_clashes');
  const problems = clashes.flatMap(({ position, source, device, field, other_position }) => {
    const message = `messages of table "${energyStreams[position]?.table}" also name a source "${source}", for example of device ${device}, whose "${field}" energyStreams.${other_position} reads: each day of the source would use only one of them; choose another name`;
    return energyStreams[position] ? [{ path: `energyStreams.${position}.as`, message }] : [];
  });
  for (const [position, { table, field, as }] of energyStreams.entries()) {
    if (as === undefined) continue;
    const merged = await query<MergedRow>(connection, 'problems/find_merged_sources', {
      table,
      field,
      messages_max: searchLimits.messagesMax,
      devices_max: MERGED_DEVICES_MAX,
    });
    for (const { device, sources } of merged) {
      const message = `device ${device} sends "${field}" for the sources ${listed(sources.items.map((name) => `"${name}"`))}, and all become the source "${as}": remove as, or choose a field that only one of them has`;
      problems.push({ path: `energyStreams.${position}.as`, message });
    }
  }
  return problems;
}

type ClashRow = { position: number; source: string; device: string; field: string; other_position: number };
type MergedRow = { device: string; sources: { items: string[] } };
