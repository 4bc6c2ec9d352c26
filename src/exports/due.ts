import { cronInstants, parseCron } from '../cron.ts';
import { formatInstant, type UtcMs } from '../time.ts';
import type { OpenExport } from './attempt.ts';
import type { ExportRun } from './ledger.ts';
import { type ExportPeriod, periodAt } from './period.ts';

/** After a long absence the newest periods count; whoever wants those before runs them by hand. */
const CATCH_UP_MAX = 31;

/**
 * Enters what has come due into the ledger: a run for each period of the schedule's instants since the last time, those of an absence included.
 * A new export begins with what comes.
 * @returns how many there are
 */
export function planDue(open: OpenExport, nowMs: UtcMs): number {
  const { config, workgroup, ledger } = open;
  const pattern = parseCron(config.schedule ?? '');
  if (typeof pattern === 'string') return 0;
  const progress = ledger.progress();
  if (!progress) {
    ledger.setProgress({ dueAfter: formatInstant(nowMs) });
    return 0;
  }
  const instants = cronInstants(pattern, config.timezone ?? workgroup.timezone, {
    afterMs: Date.parse(progress.dueAfter),
    untilMs: nowMs,
    max: CATCH_UP_MAX,
  });
  if (instants.length === 0) return 0;
  let planned = 0;
  for (const ms of instants) {
    const period = periodAt(config.range, ms, workgroup.timezone);
    if (ledger.runsOf(period.name).length > 0) continue;
    ledger.save(newRun(open, period, { revision: 1, reason: 'schedule', nowMs }));
    planned += 1;
  }
  ledger.setProgress({ ...progress, dueAfter: formatInstant(instants.at(-1)!) });
  return planned;
}

export function newRun(
  { config }: Pick<OpenExport, 'config'>,
  { name, startDay, endDay }: ExportPeriod,
  { revision, reason, nowMs }: Pick<ExportRun, 'revision' | 'reason'> & { nowMs: UtcMs },
): ExportRun {
  return {
    format: 1,
    exportId: config.id,
    workgroupId: config.workgroup,
    report: config.report,
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
