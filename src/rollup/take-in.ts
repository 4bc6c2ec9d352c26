import { ask, type Bounds, run, type Working } from './working.ts';

/** How many readings of new messages count, and how many were rejected. */
export interface TakenIn {
  readings: number;
  rejected: number;
}

/** What is taken in. */
export interface TakeIn {
  /** The batches after this one, up to and including that one. */
  afterBatchId: bigint;
  batchId: bigint;
  /** There are messages of the lake that are read again. */
  archived: boolean;
  /** There are corrections. */
  corrected: boolean;
  nowMs: bigint;
  /** Rules or settings have changed: what is stored is looked at again too. */
  rejudges: boolean;
}

/** From the messages of the batches up to one to stored readings, without those that are rejected or known already. */
export async function takeIn(
  working: Working,
  { afterBatchId, batchId, archived, corrected, nowMs, rejudges }: TakeIn,
): Promise<TakenIn> {
  const batches = { after: afterBatchId, upto: batchId };
  let extracted = await run(working, 'extract_readings', { ...batches, archived, now_ms: nowMs });
  if (archived) extracted -= await forgetKnown(working, batchId);
  if (rejudges) extracted += await rejectStored(working, nowMs);
  await run(working, 'find_series');
  const found = await ask<{
    readings: bigint;
    low_ms: bigint | null;
    high_ms: bigint | null;
    appear: boolean;
    extend: boolean;
  }>(working, 'describe_series');
  const rejected = extracted - Number(found.readings);
  if (rejected > 0) {
    await run(working, 'find_rejected', { now_ms: nowMs });
    await run(working, 'count_rejected');
    await run(working, 'mark_rejected');
  }
  if (found.appear) {
    await run(working, 'add_series');
    await run(working, 'find_series');
  }
  const taken = await run(working, 'find_incoming');
  if (found.low_ms === null || found.high_ms === null) return { readings: 0, rejected };
  const bounds = { low_ms: found.low_ms, high_ms: found.high_ms };
  const incoming = taken - (taken > 1 ? await dropRepeated(working) : 0);
  const hasExclusions = corrected && (await ask<{ count: bigint }>(working, 'count_exclusions')).count > 0n;
  const known = await supersede(working, bounds, hasExclusions);
  const excluded = hasExclusions ? await setAsideExcluded(working) : 0;
  await run(working, 'store_readings');
  if (found.extend) await run(working, 'extend_series');
  if (hasExclusions) await run(working, 'bound_excluded_series');
  return { readings: incoming - known - excluded, rejected };
}

/**
 * New readings of a time that a correction excludes are kept where they count for nothing.
 * @returns how many there are
 */
async function setAsideExcluded(working: Working): Promise<number> {
  const excluded = await run(working, 'set_aside_excluded');
  if (excluded > 0) await run(working, 'drop_excluded');
  return excluded;
}

/** Rejects stored readings that an earlier version took in, and that cannot be computed with. @returns how many */
async function rejectStored(working: Working, nowMs: bigint): Promise<number> {
  if ((await run(working, 'find_beyond', { now_ms: nowMs })) === 0) return 0;
  const rejected = await run(working, 'reject_beyond');
  await run(working, 'forget_beyond');
  await run(working, 'forget_beyond_superseded');
  if ((await run(working, 'find_instead')) > 0) {
    await run(working, 'use_instead');
    await run(working, 'forget_instead');
  }
  await run(working, 'forget_beyond_quarters');
  await run(working, 'forget_beyond_days');
  await run(working, 'forget_beyond_intervals');
  await run(working, 'bound_beyond', { now_ms: nowMs });
  return rejected;
}

/** Takes out of the messages of the lake that are read again what was made of them before. @returns how many readings that were */
async function forgetKnown(working: Working, batchId: bigint): Promise<number> {
  const archived = await ask<Bounds | { low_ms: null; high_ms: null }>(working, 'archived_bounds', {
    upto: batchId,
  });
  if (archived.low_ms === null) return 0;
  const bounds = { low_ms: archived.low_ms, high_ms: archived.high_ms };
  return (await run(working, 'forget_known', bounds)) + (await run(working, 'forget_known_rejected', bounds));
}

/**
 * One of several new readings of the same series and time counts; the others are kept aside.
 * @returns how many others there are
 */
async function dropRepeated(working: Working): Promise<number> {
  if ((await run(working, 'find_repeated')) === 0) return 0;
  const dropped = await run(working, 'drop_repeated');
  await run(working, 'keep_repeated');
  return dropped;
}

/**
 * Of a new and a stored reading of the same series and time one counts; the other is kept aside.
 * @returns how many new readings do not count
 */
async function supersede(working: Working, bounds: Bounds, hasExclusions: boolean): Promise<number> {
  if ((await run(working, 'find_superseded', bounds)) === 0) return 0;
  await run(working, 'keep_superseded');
  await run(working, 'renew_known', bounds);
  if (hasExclusions) await run(working, 'renew_known_excluded', bounds);
  const known = await run(working, 'drop_known');
  await run(working, 'drop_replaced', bounds);
  if (hasExclusions) await run(working, 'drop_replaced_excluded', bounds);
  return known;
}
