import type { z } from 'zod';
import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { type ExportRun, runName } from '../exports/export-ledger.ts';
import { nextRunMs, stateOfRuns } from '../exports/list-exports.ts';
import { errorMessage, InputError, isRetryable } from '../lib/errors.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import type { ExportRunAnswer, exportListSchema } from './export-schemas.ts';

/** The newest runs of an export in the list. */
export const EXPORT_RUNS_MAX = 20;
const DAYS_LISTED_MAX = 50;
const RETRY_SECONDS = 60;

/** @param runs all runs of the export, sorted by period */
export function exportAnswer(
  config: ExportConfig,
  runs: readonly ExportRun[],
  { timezone }: Pick<WorkgroupConfig, 'timezone'>,
  nowMs: UtcMs,
): z.output<typeof exportListSchema>['exports'][number] {
  const zone = config.timezone ?? timezone;
  const { pending, failed, outdated, outdatedWh } = stateOfRuns(config.id, runs);
  const nextMs = nextRunMs(config, zone, nowMs);
  const { folder, s3 } = config.destination;
  return {
    id: config.id,
    report: config.report,
    range: config.range,
    format: config.format,
    destination: folder !== undefined ? 'folder' : s3 ? 's3' : 'webhook',
    schedule: config.schedule ?? null,
    timezone: zone,
    nextAt: nextMs === undefined ? null : formatInstant(nextMs),
    pending,
    failed,
    outdated,
    outdatedWh,
    runs: runs.slice(-EXPORT_RUNS_MAX).toReversed().map(runAnswer),
    runCount: runs.length,
  };
}

export function runAnswer(run: ExportRun): ExportRunAnswer {
  const { period, startDay, endDay, revision, reason, state, plannedAt, file, outdated } = run;
  return {
    name: runName(run),
    period,
    startDay,
    endDay,
    revision,
    reason,
    state,
    plannedAt,
    file: file
      ? {
          name: file.name,
          rows: file.rows,
          bytes: file.bytes,
          energyWh: file.energyWh,
          generation: file.generation,
          sha256: file.sha256,
        }
      : null,
    attempts: run.attempts,
    nextAttemptAt: run.nextAttemptAt ?? null,
    lastError: run.lastError ? { at: run.lastError.at, message: run.lastError.message } : null,
    deliveredAt: run.delivered?.at ?? null,
    outdated: outdated
      ? {
          since: outdated.since,
          dayCount: outdated.days.length,
          days: outdated.days.slice(0, DAYS_LISTED_MAX),
        }
      : null,
  };
}

/** The error of a run by hand, for HTTP. */
export function runRefusal(error: unknown): unknown {
  if (error instanceof StreamError) return error;
  if (error instanceof InputError) {
    const [problem] = error.problems;
    return new StreamError('InvalidRequest', `period: ${problem!.message}`, { parameter: 'period' });
  }
  const refusal = new StreamError(
    isRetryable(error) ? 'StorageUnavailable' : 'InvalidRequest',
    `the export has failed: ${errorMessage(error)}`,
    {},
    isRetryable(error) ? RETRY_SECONDS : undefined,
  );
  refusal.cause = error;
  return refusal;
}
