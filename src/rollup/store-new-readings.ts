import { type Bounds, type RollUpContext, readRow, runStatement } from './rollup-context.ts';

/** Number of new readings that are used, and of rejected ones. */
export interface NewReadingsCount {
  readings: number;
  rejected: number;
}

/** Which messages are read. */
interface NewReadingsOptions {
  /** The batches after this one, up to and including `batchId`. */
  afterBatchId: bigint;
  batchId: bigint;
  /** True if messages of the lake are read again. */
  hasArchived: boolean;
  /** True if there are corrections. */
  hasCorrections: boolean;
  nowMs: bigint;
  /** True if rules or settings have changed, so stored readings are checked again too. */
  rejudges: boolean;
}

/**
 * Stores the readings of the messages of new batches, except readings that are rejected or stored already.
 */
export async function storeNewReadings(
  context: RollUpContext,
  { afterBatchId, batchId, hasArchived, hasCorrections, nowMs, rejudges }: NewReadingsOptions,
): Promise<NewReadingsCount> {
  const batches = { after: afterBatchId, upto: batchId };
  let extracted = await runStatement(context, 'extract_readings', {
    ...batches,
    archived: hasArchived,
    now_ms: nowMs,
  });
  if (hasArchived) extracted -= await dropReread(context, batchId);
  if (rejudges) extracted += await rejectStored(context, nowMs);
  await runStatement(context, 'collect_series');
  const description = await readRow<{
    readings: bigint;
    low_ms: bigint | null;
    high_ms: bigint | null;
    has_new_series: boolean;
    widens_series: boolean;
  }>(context, 'describe_incoming');
  const rejected = extracted - Number(description.readings);
  if (rejected > 0) {
    await runStatement(context, 'collect_rejected', { now_ms: nowMs });
    await runStatement(context, 'add_rejected_counts');
    await runStatement(context, 'mark_rejections_dirty');
  }
  if (description.has_new_series) {
    await runStatement(context, 'add_series');
    await runStatement(context, 'collect_series');
  }
  const taken = await runStatement(context, 'collect_incoming');
  if (description.low_ms === null || description.high_ms === null) return { readings: 0, rejected };
  const bounds = { low_ms: description.low_ms, high_ms: description.high_ms };
  const incoming = taken - (taken > 1 ? await dropRepeated(context) : 0);
  const hasExclusions =
    hasCorrections && (await readRow<{ count: bigint }>(context, 'count_exclusions')).count > 0n;
  const known = await supersede(context, bounds, hasExclusions);
  const excluded = hasExclusions ? await storeIncomingExclusions(context) : 0;
  await runStatement(context, 'store_readings');
  if (description.widens_series) await runStatement(context, 'update_series_bounds');
  if (hasExclusions) await runStatement(context, 'update_excluded_bounds');
  return { readings: incoming - known - excluded, rejected };
}

/** Moves new readings of an excluded time to `excluded_reading`. @returns their number */
async function storeIncomingExclusions(context: RollUpContext): Promise<number> {
  const excluded = await runStatement(context, 'store_incoming_exclusions');
  if (excluded > 0) await runStatement(context, 'drop_incoming_exclusions');
  return excluded;
}

/**
 * Rejects stored readings that an earlier version accepted and this version rejects.
 * @returns their number
 */
async function rejectStored(context: RollUpContext, nowMs: bigint): Promise<number> {
  if ((await runStatement(context, 'collect_invalid_stored', { now_ms: nowMs })) === 0) return 0;
  const rejected = await runStatement(context, 'reject_invalid_stored');
  await runStatement(context, 'delete_invalid_readings');
  await runStatement(context, 'delete_invalid_superseded');
  if ((await runStatement(context, 'collect_successors')) > 0) {
    await runStatement(context, 'store_successors');
    await runStatement(context, 'delete_used_successors');
  }
  await runStatement(context, 'delete_invalid_quarters');
  await runStatement(context, 'delete_invalid_days');
  await runStatement(context, 'delete_invalid_intervals');
  await runStatement(context, 'update_invalid_bounds', { now_ms: nowMs });
  return rejected;
}

/** Drops readings of re-read messages that are stored already. @returns their number */
async function dropReread(context: RollUpContext, batchId: bigint): Promise<number> {
  const archived = await readRow<Bounds | { low_ms: null; high_ms: null }>(context, 'read_archived_range', {
    upto: batchId,
  });
  if (archived.low_ms === null) return 0;
  const bounds = { low_ms: archived.low_ms, high_ms: archived.high_ms };
  return (
    (await runStatement(context, 'drop_reread_readings', bounds)) +
    (await runStatement(context, 'drop_reread_rejections', bounds))
  );
}

/**
 * Keeps one of several new readings of the same series and time; the others are stored as superseded.
 * @returns the number of the others
 */
async function dropRepeated(context: RollUpContext): Promise<number> {
  if ((await runStatement(context, 'collect_repetitions')) === 0) return 0;
  const dropped = await runStatement(context, 'drop_repetitions');
  await runStatement(context, 'store_repetitions');
  return dropped;
}

/**
 * Chooses between a new and a stored reading of the same series and time; the other one is stored as
 * superseded.
 * @returns the number of new readings that are not used
 */
async function supersede(context: RollUpContext, bounds: Bounds, hasExclusions: boolean): Promise<number> {
  if ((await runStatement(context, 'collect_superseded', bounds)) === 0) return 0;
  await runStatement(context, 'store_superseded');
  await runStatement(context, 'update_repeated_reading', bounds);
  if (hasExclusions) await runStatement(context, 'update_repeated_exclusion', bounds);
  const known = await runStatement(context, 'drop_losing_incoming');
  await runStatement(context, 'delete_replaced_readings', bounds);
  if (hasExclusions) await runStatement(context, 'delete_replaced_exclusions', bounds);
  return known;
}
