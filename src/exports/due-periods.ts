import { cronInstants, parseCron } from '../lib/cron.ts';
import { formatInstant, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import type { OpenExport } from './attempt-run.ts';
import type { ExportProgress, ExportRun } from './export-ledger.ts';
import { type ExportPeriod, periodAt } from './export-period.ts';
import { questionOf } from './question-of.ts';

/** After a long absence only the newest periods are exported. Older ones can be exported by hand. */
const MISSED_PERIODS_MAX = 31;

/**
 * Adds due runs to the ledger: one for each period of the schedule since the last time. A new export begins
 * with the next due time.
 */
export async function planDue(open: OpenExport, nowMs: UtcMs): Promise<void> {
  const { ledger } = open;
  const progress = await ledger.progress();
  // A new export that is due in this very minute must run now.
  const known = progress ?? { dueAfter: formatInstant(nowMs - MINUTE_MS) };
  const due = duePeriods(open, known, nowMs);
  for (const { period } of due) {
    if ((await ledger.runsOf(period.name)).length === 0)
      await ledger.save(newRun(open, period, { revision: 1, reason: 'schedule', nowMs }));
  }
  const last = due.at(-1);
  if (last) await ledger.setProgress({ ...known, dueAfter: formatInstant(last.atMs) });
  else if (!progress) await ledger.setProgress(known);
}

/** The periods of the schedule since the last time. */
export function duePeriods(
  { config, workgroup }: Pick<OpenExport, 'config' | 'workgroup'>,
  { dueAfter }: Pick<ExportProgress, 'dueAfter'>,
  nowMs: UtcMs,
): Array<{ atMs: UtcMs; period: ExportPeriod }> {
  const pattern = parseCron(config.schedule ?? '');
  if (typeof pattern === 'string') return [];
  const zone = config.timezone ?? workgroup.timezone;
  const afterMs = Date.parse(dueAfter);
  return cronInstants(pattern, zone, { afterMs, untilMs: nowMs, max: MISSED_PERIODS_MAX }).map((atMs) => ({
    atMs,
    period: periodAt(config.range, atMs, workgroup.timezone),
  }));
}

export function newRun(
  { config, workgroup }: OpenExport,
  { name, startDay, endDay }: ExportPeriod,
  { revision, reason, nowMs }: Pick<ExportRun, 'revision' | 'reason'> & { nowMs: UtcMs },
): ExportRun {
  return {
    format: 1,
    exportId: config.id,
    workgroupId: config.workgroup,
    report: config.report,
    question: questionOf(config, workgroup),
    period: name,
    startDay,
    endDay,
    revision,
    reason,
    state: 'planned',
    plannedAt: formatInstant(nowMs),
    attempts: 0,
  };
}
