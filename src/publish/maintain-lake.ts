import { type CompactResult, compactLake } from './compact-lake.ts';
import type { PublishOptions } from './publish.ts';
import type { PublishableShard } from './publishable-shard.ts';
import { type RenewOptions, renewCurrent } from './renew-current.ts';
import { type RetentionPlan, retainLake } from './retain-lake.ts';
import { type TrimResult, trimWarehouse } from './trim-warehouse.ts';

interface MaintainOptions extends PublishOptions, Pick<RenewOptions, 'currentEveryMs'> {
  /** How far back one generation of each hour is kept. */
  keepGenerationsMs: number;
  /** How long published messages stay in the warehouse. */
  keepMessagesMs: number;
  /** Only reports what would be done. */
  dryRun?: boolean;
}

export interface MaintainResult {
  compact: CompactResult;
  retain: RetentionPlan;
  trim: TrimResult;
}

/**
 * Keeps lake and warehouse small: merges small files, removes old generations, and deletes messages that are
 * in the lake. Renews `current` if it is due.
 */
export async function maintain(shard: PublishableShard, options: MaintainOptions): Promise<MaintainResult> {
  const compact = await compactLake(shard, options);
  const retain = await retainLake(shard, options);
  const trim = await trimWarehouse(shard, options);
  if (!options.dryRun) await renewCurrent(shard, options);
  return { compact, retain, trim };
}
