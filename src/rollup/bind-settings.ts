import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { bindStreams, type Restatement } from './bind-streams.ts';
import { type RollUpContext, readRow, runStatement } from './rollup-context.ts';

/** The next batches, and the stored settings. The row of statement `find_next_batches`. */
export type NextBatches = {
  batch_id: bigint | null;
  newest_id: bigint | null;
  messages: bigint | null;
  batches: bigint;
  all_taken_id: bigint | null;
  any_taken_id: bigint | null;
  has_pending: boolean;
  archived: boolean;
  set_aside: bigint;
  corrections: bigint;
  streams: string | null;
  sources: string;
};

/**
 * The settings that a kept connection holds: the configuration, and the fingerprints of the stored settings
 * when they were bound.
 */
interface Bound extends Pick<NextBatches, 'streams' | 'sources'> {
  settings: string;
  /** True if the last roll-up restated streams. They are still in table `restated_stream`. */
  isRestated: boolean;
}

const bound = new WeakMap<DuckDBConnection, Bound>();

/**
 * Binds the settings of the configuration to the connection, and reads which batches are next. Settings of an
 * earlier roll-up are kept if neither the configuration nor the stored settings have changed. With `runAll`
 * no settings are kept, so that tests compare both ways.
 * @returns the next batches, and which settings have changed since the last roll-up
 */
export async function bindSettings(
  context: RollUpContext,
  workgroup: WorkgroupConfig,
  messagesMax: number,
): Promise<{ next: NextBatches; restatement: Restatement | undefined }> {
  const { connection } = context;
  const findNext = () => readRow<NextBatches>(context, 'find_next_batches', { messages_max: messagesMax });
  const settings = settingsOf(workgroup);
  const known = bound.get(connection);
  if (known && !context.runAll) {
    const next = await findNext();
    const { streams, sources } = next;
    if (known.settings === settings && known.streams === streams && known.sources === sources) {
      // The next roll-up must not restate them again.
      if (known.isRestated) await runStatement(context, 'forget_restated_streams');
      known.isRestated = false;
      return { next, restatement: undefined };
    }
  }
  bound.delete(connection);
  const restatement = await bindStreams(connection, workgroup);
  const next = await findNext();
  const { streams, sources } = next;
  bound.set(connection, { settings, streams, sources, isRestated: restatement !== undefined });
  return { next, restatement };
}

const texts = new WeakMap<WorkgroupConfig, string>();

/** The settings that a roll-up depends on, as text to compare. */
export function settingsOf(workgroup: WorkgroupConfig): string {
  const { timezone, energyStreams, devices } = workgroup;
  const sources = devices.map(({ id, sources = [] }) => [id, sources]);
  const text = texts.get(workgroup) ?? JSON.stringify({ timezone, energyStreams, sources });
  texts.set(workgroup, text);
  return text;
}
