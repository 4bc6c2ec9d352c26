import type { DuckDBConnection } from '@duckdb/node-api';
import type { Audit } from '../audit/audit.ts';
import { InputError, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { dayBounds, type LocalDate, type UtcMs } from '../lib/time.ts';
import type { DayEffect } from '../rollup/apply-corrections.ts';
import { bindStoredStreams } from '../rollup/bind-streams.ts';
import { rollUpCorrection } from '../rollup/roll-up-correction.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import { checkOverlap, checkSource, checkStream } from './check-correction.ts';
import { type CorrectionRequest, correctionLimits, stretchProblem } from './correction-request.ts';
import { type Estimate, estimate } from './estimate.ts';
import { type ListedCorrection, readCorrection } from './list-corrections.ts';

/** The result of a correction. */
export interface CorrectOutcome {
  /**
   * stored-before: the same request with the same key was stored before, nothing was done; checked: a dry
   * run, nothing was stored.
   */
  outcome: 'stored' | 'stored-before' | 'checked';
  correction: ListedCorrection;
}

interface CorrectOptions {
  /** The author. */
  author: string;
  /** Computes everything and stores nothing. */
  dryRun: boolean;
  nowMs: UtcMs;
  /** A day is final when this much time has passed since its end. */
  closeAfterMs: number;
}

/** Ends the transaction of a dry run, so that it is rolled back, and carries its result. */
class DryRun extends Error {
  readonly outcome: CorrectOutcome;
  constructor(outcome: CorrectOutcome) {
    super('a dry run stores nothing');
    this.outcome = outcome;
  }
}

/**
 * Stores a correction and computes its effect, in one transaction: all or nothing.
 * @throws InputError that names the wrong parameter
 * @throws TransientError if nothing has been rolled up yet
 */
export async function storeCorrection(
  shard: Shard,
  request: CorrectionRequest,
  options: CorrectOptions,
): Promise<CorrectOutcome> {
  try {
    return await shard.transaction(async (connection) => {
      const outcome = await correct(connection, request, options);
      if (options.dryRun) throw new DryRun({ ...outcome, outcome: 'checked' });
      return outcome;
    });
  } catch (thrown) {
    if (thrown instanceof DryRun) return thrown.outcome;
    throw thrown;
  }
}

/** Like `storeCorrection`, with an entry in the audit log if something was stored. */
export async function storeAuditedCorrection(
  shard: Shard,
  request: CorrectionRequest,
  { audit, logger, ...options }: CorrectOptions & { audit: Audit; logger: Logger },
): Promise<CorrectOutcome> {
  const startMs = performance.now();
  const stored = await storeCorrection(shard, request, options);
  if (stored.outcome !== 'stored') return stored;
  const { id, kind, device, source, undoes, reason, dayCount } = stored.correction;
  audit.record(shard.workgroupId, {
    actor: options.author,
    action: kind === 'undo' ? 'correction.undone' : 'correction.created',
    target: String(undoes ?? id),
    data: { id, kind, device, source, reason, days: dayCount },
  });
  const durationMs = Math.round(performance.now() - startMs);
  logger.info({ workgroup: shard.workgroupId, id, kind, days: dayCount, durationMs }, 'correction.stored');
  return stored;
}

/** The stored values of a correction that are not in its request. */
interface Place {
  device: string;
  source: string;
  fromMs: UtcMs;
  toMs: UtcMs;
  day?: LocalDate;
  timezone?: string;
}

async function correct(
  connection: DuckDBConnection,
  request: CorrectionRequest,
  { author, nowMs, closeAfterMs }: CorrectOptions,
): Promise<CorrectOutcome> {
  const text = JSON.stringify(request);
  const before = await findByKey(connection, request.key, text);
  if (before !== undefined)
    return { outcome: 'stored-before', correction: await readCorrection(connection, before) };
  const streams = await bindStoredStreams(connection);
  const timezone = streams[0]?.timezone;
  if (timezone === undefined)
    throw new TransientError(
      'NothingRolledUp',
      'there is no energy yet that could be corrected; try again once there is',
    );
  const [next] = await query<{ correction_id: number; corrections: number }>(
    connection,
    'correction/find_next_id',
  );
  const { correction_id: id, corrections } = next!;
  if (corrections >= correctionLimits.countMax)
    throw refusal('kind', `there are ${corrections} corrections, and no more can be stored`);
  const place = await placeOf(connection, request, timezone);
  if (request.kind !== 'undo') await checkPlace(connection, request, place, nowMs);
  const filled = request.kind === 'fill' ? await estimate(connection, request, timezone) : undefined;
  await query(connection, 'correction/store_correction', {
    correction_id: BigInt(id),
    kind: request.kind,
    device: place.device,
    source: place.source,
    table_name: request.kind === 'exclude' ? (request.table ?? null) : null,
    field: request.kind === 'exclude' ? (request.field ?? null) : null,
    day: place.day ?? null,
    timezone: place.timezone ?? null,
    from_ms: BigInt(place.fromMs),
    to_ms: BigInt(place.toMs),
    energy_wh: energyOf(request, filled),
    basis: filled ? JSON.stringify(filled.basis) : null,
    undoes: request.kind === 'undo' ? BigInt(request.correctionId) : null,
    reason: request.reason,
    author,
    request_key: request.key ?? null,
    request: text,
    created_at_ms: BigInt(nowMs),
  });
  if (filled) await storeValues(connection, id, filled);
  const effects = await rollUpCorrection(connection, {
    ...place,
    correctionId: id,
    streams,
    closeAfterMs,
    nowMs,
  });
  await storeEffects(connection, id, effects);
  return { outcome: 'stored', correction: await readCorrection(connection, id) };
}

async function findByKey(
  connection: DuckDBConnection,
  key: string | undefined,
  text: string,
): Promise<number | undefined> {
  if (key === undefined) return undefined;
  const [stored] = await query<{ correction_id: number; request: string }>(
    connection,
    'correction/find_key',
    {
      key,
    },
  );
  if (stored && stored.request !== text)
    throw refusal('key', `was used for another correction, ${stored.correction_id}; give each its own`);
  return stored?.correction_id;
}

/** Device, source and time of a correction. An undo has the fields of the correction that it undoes. */
async function placeOf(
  connection: DuckDBConnection,
  request: CorrectionRequest,
  timezone: string,
): Promise<Place> {
  switch (request.kind) {
    case 'exclude':
    case 'set':
    case 'fill': {
      const { device, source, fromMs, toMs } = request;
      return { device, source, fromMs, toMs };
    }
    case 'set_day': {
      const { device, source, day } = request;
      const { startMs, endMs } = dayBounds(day, day, timezone)[0]!;
      if (endMs <= startMs) throw refusal('day', `${timezone} left ${day} out: there was no such day`);
      return { device, source, fromMs: startMs, toMs: endMs, day, timezone };
    }
    case 'undo':
      return undonePlace(connection, request.correctionId);
    default:
      return request satisfies never;
  }
}

async function undonePlace(connection: DuckDBConnection, correctionId: number): Promise<Place> {
  const [stored] = await query<{
    kind: CorrectionRequest['kind'];
    device: string;
    source: string;
    day: string | null;
    timezone: string | null;
    from_ms: number;
    to_ms: number;
    undone_by: number | null;
  }>(connection, 'correction/find_correction', { correction_id: BigInt(correctionId) });
  if (!stored) throw refusal('correction', `there is no correction ${correctionId}`);
  if (stored.kind === 'undo')
    throw refusal('correction', `${correctionId} undoes another one; make that correction again instead`);
  if (stored.undone_by !== null)
    throw refusal('correction', `${correctionId} is undone already, by ${stored.undone_by}`);
  return {
    device: stored.device,
    source: stored.source,
    fromMs: stored.from_ms,
    toMs: stored.to_ms,
    ...(stored.day !== null && { day: stored.day }),
    ...(stored.timezone !== null && { timezone: stored.timezone }),
  };
}

async function checkPlace(
  connection: DuckDBConnection,
  request: Exclude<CorrectionRequest, { kind: 'undo' }>,
  place: Place,
  nowMs: UtcMs,
): Promise<void> {
  const problem = stretchProblem(place, request.kind, nowMs);
  if (problem) throw refusal(problem.path, problem.message);
  await checkSource(connection, request);
  if (request.kind === 'exclude') return checkStream(connection, request);
  if (request.kind === 'fill' && request.like) await checkSource(connection, request.like, 'like');
  await checkOverlap(connection, request, place);
}

function energyOf(request: CorrectionRequest, filled: Estimate | undefined): bigint | null {
  if (filled) return BigInt(filled.energyWh);
  return request.kind === 'set' || request.kind === 'set_day' ? BigInt(request.energyWh) : null;
}

async function storeValues(connection: DuckDBConnection, id: number, { values }: Estimate): Promise<void> {
  await query(connection, 'correction/store_values', {
    correction_id: BigInt(id),
    starts_ms: values.map(({ startMs }) => BigInt(startMs)),
    energies_wh: values.map(({ energyWh }) => BigInt(energyWh)),
  });
}

async function storeEffects(
  connection: DuckDBConnection,
  id: number,
  effects: readonly DayEffect[],
): Promise<void> {
  if (effects.length === 0) return;
  await query(connection, 'correction/store_effects', {
    correction_id: BigInt(id),
    effects: JSON.stringify(effects),
  });
}

function refusal(path: string, message: string): InputError {
  return new InputError('the correction', [{ path, message }]);
}
