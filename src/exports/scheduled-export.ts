import { errorMessage } from '../lib/errors.ts';
import { formatInstant, HOUR_MS } from '../lib/time.ts';
import { attemptRun, type ExportDeps, isElsewhere, type OpenExport } from './attempt-run.ts';
import { duePeriods, planDue } from './due-periods.ts';
import { type ExportProgress, type ExportRun, runName } from './export-ledger.ts';
import { markOutdated } from './mark-outdated.ts';

/** What one export does by itself. */
interface ScheduledExport {
  /** True if there is work. Called every minute, so it reads little. */
  hasWork(): Promise<boolean>;
  /**
   * Makes and delivers the files that are due, tries failed runs again, and once an hour compares delivered
   * files with the lake. The lock of the export must be held.
   */
  work(signal: AbortSignal): Promise<void>;
}

const COMPARE_MS = HOUR_MS;

export function createScheduledExport(open: OpenExport, deps: ExportDeps): ScheduledExport {
  const { config, workgroup, ledger } = open;
  const { lake, clock, logger } = deps;
  const about = { workgroup: workgroup.id, export: config.id };
  /**
   * The time of the last comparison that found no new generation. It is in memory, because the ledger does
   * not store it.
   */
  let lookedAtMs: number | undefined;

  async function attemptPending(signal: AbortSignal): Promise<'done' | 'stopped'> {
    for (const run of await ledger.pending()) {
      if (signal.aborted) return 'stopped';
      if (!isToBeTried(run, clock.now())) continue;
      try {
        await attemptRun(open, run, deps, signal);
      } catch (error) {
        if (signal.aborted || isElsewhere(error)) return 'stopped';
        // The error is in the ledger, and other exports continue.
        logger.warn({ ...about, run: runName(run), error: errorMessage(error) }, 'export.failed');
      }
    }
    return 'done';
  }

  /** Marks delivered files if their energy has changed in the lake. */
  async function compareDelivered(signal: AbortSignal): Promise<void> {
    const generation = await lake.newestGeneration(workgroup.id);
    const progress = await ledger.progress();
    if (!generation || !progress || signal.aborted || !isToBeCompared(progress)) return;
    const { sequence } = generation.commit;
    lookedAtMs = clock.now();
    if (progress.compared?.generation === sequence) return;
    for (const { period, outdated } of await markOutdated(open, lake, generation, clock.now(), signal))
      logger.warn({ ...about, run: period, days: outdated?.days.length }, 'export.outdated');
    const compared = { at: formatInstant(clock.now()), generation: sequence };
    await ledger.setProgress({ ...progress, compared });
  }

  function isToBeCompared({ compared }: ExportProgress): boolean {
    const storedMs = compared ? Date.parse(compared.at) : Number.NEGATIVE_INFINITY;
    return clock.now() - Math.max(storedMs, lookedAtMs ?? storedMs) >= COMPARE_MS;
  }

  return {
    async hasWork() {
      const nowMs = clock.now();
      const progress = await ledger.progress();
      return (
        !progress ||
        duePeriods(open, progress, nowMs).length > 0 ||
        (await ledger.pending()).some((run) => isToBeTried(run, nowMs)) ||
        isToBeCompared(progress)
      );
    },
    async work(signal) {
      ledger.reload();
      await planDue(open, clock.now());
      if ((await attemptPending(signal)) === 'done') await compareDelivered(signal);
    },
  };
}

/** True for a run whose next attempt is due. A failed run is tried again by hand only. */
export function isToBeTried(
  { state, nextAttemptAt, plannedAt }: Pick<ExportRun, 'state' | 'nextAttemptAt' | 'plannedAt'>,
  nowMs: number,
): boolean {
  return state !== 'failed' && Date.parse(nextAttemptAt ?? plannedAt) <= nowMs;
}
