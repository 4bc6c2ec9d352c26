import type { z } from 'zod';
import type { WorkgroupConfig } from '../config/config.ts';
import { destinationOf, type ExportConfig } from '../config/export-settings.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { type ExportRun, runName } from '../exports/export-ledger.ts';
import { nextRunMs, stateOfRuns } from '../exports/list-exports.ts';
import { errorMessage, InputError, isRetryable } from '../lib/errors.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import type { ExportRunAnswer, exportListSchema } from './export-schemas.ts';
import type { ListRows } from './send-list.ts';

/** The newest runs of an export in the list. */
const EXPORT_RUNS_MAX = 20;
const DAYS_LISTED_MAX = 50;
const RETRY_SECONDS = 60;

type ExportAnswer = z.output<typeof exportListSchema>['exports'][number];

/** @param runs all runs of the export, sorted by period */
export function exportAnswer(
  config: ExportConfig,
  runs: readonly ExportRun[],
  { timezone }: Pick<WorkgroupConfig, 'timezone'>,
  nowMs: UtcMs,
): ExportAnswer {
  const zone = config.timezone ?? timezone;
  const { pending, failed, outdated, outdatedWh } = stateOfRuns(config.id, runs);
  const nextMs = nextRunMs(config, zone, nowMs);
  return {
    id: config.id,
    report: config.report,
    range: config.range,
    format: config.format,
    destination: destinationOf(config).kind,
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

/** An export without runs has one row. */
export function exportRows(exports: readonly ExportAnswer[]): ListRows {
  return {
    name: 'exports',
    columns: [
      ...(['export', 'report', 'range', 'format', 'destination', 'schedule', 'timezone', 'next_at'] as const),
      ...(['run', 'start_day', 'end_day', 'revision', 'reason', 'state', 'planned_at', 'file'] as const),
      ...(['file_rows', 'bytes', 'energy_wh', 'sha256', 'attempts', 'last_error', 'delivered_at'] as const),
      ...(['outdated_since', 'outdated_days'] as const),
    ],
    rows: exports.flatMap(({ id, runs, nextAt, report, range, format, destination, schedule, timezone }) =>
      (runs.length === 0 ? [undefined] : runs).map((run) => ({
        ...{ export: id, report, range, format, destination, schedule, timezone, next_at: nextAt },
        ...(run && runRow(run)),
      })),
    ),
  };
}

function runRow({
  name,
  startDay,
  endDay,
  revision,
  reason,
  state,
  file,
  attempts,
  ...run
}: ExportRunAnswer) {
  return {
    run: name,
    start_day: startDay,
    end_day: endDay,
    revision,
    reason,
    state,
    planned_at: run.plannedAt,
    file: file?.name ?? null,
    file_rows: file?.rows ?? null,
    bytes: file?.bytes ?? null,
    energy_wh: file?.energyWh ?? null,
    sha256: file?.sha256 ?? null,
    attempts,
    last_error: run.lastError?.message ?? null,
    delivered_at: run.deliveredAt,
    outdated_since: run.outdated?.since ?? null,
    outdated_days: run.outdated?.dayCount ?? null,
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
