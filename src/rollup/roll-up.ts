import type { WorkgroupConfig } from '../config/config.ts';
import type { Shard } from '../warehouse/shard.ts';
import { settingsOf } from './bind-settings.ts';
import { describeFailure, findFailingSeries } from './find-failing-series.ts';
import {
  type Attempt,
  firstOpenDay,
  type RollUpOptions,
  type RollUpResult,
  rollUpOnce,
} from './roll-up-once.ts';
import { type SeriesKey, setAside } from './set-aside.ts';

export type { RollUpOptions, RollUpResult } from './roll-up-once.ts';

/** Messages of one call if many streams read them. If few do, `READINGS_MAX` allows more. */
const LOWEST_MESSAGES_MAX = 250_000;
/**
 * Readings of one call if few streams read the messages. It is high, so that the fixed cost of a call matters
 * little. Memory bounds it: a reading each hour makes four intervals, which need most of the memory.
 */
const READINGS_MAX = 500_000;
/** One call searches this often for failing series. It searches again only if other series fail. */
const ROUNDS_MAX = 3;

/**
 * Turns the messages that have landed since the last call into energy: readings, 15-minute intervals, days.
 * It runs the chapters of sql/rollup in one transaction. Everything that new readings touch is computed again
 * as a whole. So the same readings give the same rows, in any order and any number of times. If nothing was
 * written since the last call, no statement runs.
 * If the roll-up fails, it tries fewer batches. If one batch fails, it sets the failing series aside and
 * rolls up the others.
 * @throws StaleOwnerError if another worker has taken the shard; then nothing has changed
 */
export async function rollUp(shard: Shard, options: RollUpOptions): Promise<RollUpResult> {
  const last = lastRuns.get(shard);
  // This is read before the roll-up begins, so data that is written during it counts as new.
  const state = {
    changes: shard.changes(),
    settings: settingsOf(options.workgroup),
    openDay: firstOpenDay(options),
  };
  if (
    last &&
    last.changes === state.changes &&
    last.settings === state.settings &&
    last.openDay === state.openDay
  )
    return { batchId: last.batchId, readings: 0, rejected: 0, days: 0, more: false };
  lastRuns.delete(shard);
  // With other settings, the last run can have closed other days.
  const closedBefore = last?.settings === state.settings ? last.openDay : undefined;
  const result = await rollUpSafely(shard, options, { closedBefore, prefersNew: waitingRuns.has(shard) });
  if (!result.more) lastRuns.set(shard, { ...state, batchId: result.batchId });
  return result;
}

/**
 * The state after the last complete roll-up of a shard. While it is the same, a roll-up has nothing to do.
 */
interface LastRun {
  changes: number;
  settings: string;
  /** The first day that is not final. */
  openDay: string;
  batchId: bigint;
}

const lastRuns = new WeakMap<Shard, LastRun>();
/** The shards whose last call has computed only devices that waited. New batches come next. */
const waitingRuns = new WeakSet<Shard>();

/**
 * Rolls up; after a failure it tries again with half of the messages, and at last without the failing series.
 */
async function rollUpSafely(
  shard: Shard,
  options: RollUpOptions,
  about: Pick<Attempt, 'closedBefore' | 'prefersNew'>,
): Promise<RollUpResult> {
  let messagesMax = options.messagesMax ?? messagesMaxOf(options.workgroup);
  for (let rounds = 0; ; ) {
    const attempt: Attempt = { messagesMax, ...about };
    const outcome = await rollUpOnce(shard, options, attempt);
    if (outcome.kind === 'done') {
      if (outcome.workKind === 'waiting') waitingRuns.add(shard);
      else waitingRuns.delete(shard);
      return outcome.result;
    }
    if (outcome.batches > 1) messagesMax = Math.floor(messagesMax / 2);
    else if (++rounds > ROUNDS_MAX || !(await setFailingSeriesAside(shard, options, attempt)))
      throw outcome.error;
  }
}

/**
 * The maximum number of messages of one call: enough for `READINGS_MAX` readings, but at least
 * `LOWEST_MESSAGES_MAX`.
 */
function messagesMaxOf({ energyStreams }: WorkgroupConfig): number {
  return Math.max(LOWEST_MESSAGES_MAX, Math.floor(READINGS_MAX / Math.max(1, energyStreams.length)));
}

/**
 * Finds the failing series by trials that are rolled back, and sets them aside.
 * @returns true if another attempt can succeed
 */
async function setFailingSeriesAside(
  shard: Shard,
  options: RollUpOptions,
  attempt: Attempt,
): Promise<boolean> {
  const { logger, clock } = options;
  /** @returns the error of the trial; undefined if it did not fail */
  const tryWith = async (omitSeries: NonNullable<Attempt['omitSeries']>): Promise<unknown> => {
    const outcome = await rollUpOnce(shard, options, { ...attempt, omitSeries });
    return outcome.kind === 'failed' ? outcome.error : undefined;
  };
  let touched: readonly SeriesKey[] = [];
  const withoutAny = await tryWith((all) => {
    touched = all;
    return all;
  });
  // If it fails without any series, the series are not the reason.
  if (withoutAny !== undefined) return false;
  const failing = await findFailingSeries(touched, (included) => {
    const names = new Set(included.map(seriesName));
    return tryWith((all) => all.filter((key) => !names.has(seriesName(key))));
  });
  for (const { key, error } of failing) {
    const words = describeFailure(error);
    await shard.transaction((connection) => setAside(connection, key, { error: words, nowMs: clock.now() }));
    const { device, source, stream_id: streamId } = key;
    logger.error(
      { workgroup: shard.workgroupId, device, source, streamId, error: words },
      'rollup.set-aside',
    );
  }
  return true;
}

function seriesName({ stream_id, device, source }: SeriesKey): string {
  return `${stream_id} ${device} ${source}`;
}
