import type { Config } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { errorMessage, InputError, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import { formatInstant, HOUR_MS, localDateOf } from '../lib/time.ts';
import { attemptRun, type ExportDeps, type OpenExport } from './attempt-run.ts';
import { duePeriods, newRun, planDue } from './due-periods.ts';
import { type ExportProgress, type ExportRun, openLedger, retryAdvice, runName } from './export-ledger.ts';
import { type ExportPeriod, periodAt } from './export-period.ts';
import { markOutdated } from './mark-outdated.ts';

export interface ExportsOptions extends ExportDeps {
  config: Pick<Config, 'workgroups' | 'exports'>;
  /**
   * Locks an export, because only one process may work on it.
   * @returns the unlock; undefined if another process has the lock
   */
  hold(exportId: string): Promise<(() => Promise<void>) | undefined>;
}

export interface Exports {
  /** Runs due exports of a workgroup, retries failed ones, and once an hour compares delivered files with the lake. */
  work(workgroupId: string, signal: AbortSignal): Promise<void>;
  /** True if a run of a workgroup is planned or will be retried. */
  hasPending(workgroupId: string): boolean;
  /**
   * Runs an export now, for a period that has ended. Default: the period of its range. Does nothing if it was already delivered.
   * @param corrected makes a new revision
   * @throws InputError if the request is wrong, TransientError if the run failed; it is then retried automatically
   */
  run(
    exportId: string,
    request: { period?: ExportPeriod; corrected: boolean },
    signal: AbortSignal,
  ): Promise<{ kind: 'delivered' | 'already-delivered'; run: ExportRun }>;
  /** The configured export. @throws InputError if it does not exist */
  open(exportId: string): OpenExport;
  list(): OpenExport[];
}

const COMPARE_MS = HOUR_MS;

export function createExports(options: ExportsOptions): Exports {
  const { config, dataDir, lake, clock, logger, hold } = options;
  const all = config.exports.map((one) => openExport(config, dataDir, one));

  // The caller receives the error.
  async function attemptByHand(open: OpenExport, run: ExportRun, signal: AbortSignal): Promise<ExportRun> {
    try {
      return await attemptRun(open, run, options, signal);
    } catch (cause) {
      const failed = open.ledger.runsOf(run.period).find(({ revision }) => revision === run.revision);
      const next = failed && !signal.aborted && retryAdvice(failed);
      if (!next) throw cause;
      const code = failed.lastError?.code ?? 'Failed';
      const message = `${errorMessage(cause)}; ${next}`;
      throw isRetryable(cause)
        ? new TransientError(code, message, { cause })
        : new TerminalError(code, message, { cause });
    }
  }

  async function workOn(open: OpenExport, signal: AbortSignal): Promise<void> {
    const { ledger } = open;
    planDue(open, clock.now());
    for (const run of ledger.pending()) {
      if (signal.aborted) return;
      if (!isToBeTried(run, clock.now())) continue;
      try {
        await attemptRun(open, run, options, signal);
      } catch (error) {
        if (signal.aborted) return;
        // The error is in the ledger, and other exports continue.
        logger.warn(
          {
            workgroup: open.workgroup.id,
            export: open.config.id,
            run: runName(run),
            error: errorMessage(error),
          },
          'export.failed',
        );
      }
    }
    const generation = await lake.current(open.workgroup.id);
    const progress = ledger.progress();
    if (!generation || !progress || signal.aborted) return;
    const { compared } = progress;
    const { sequence } = generation.commit;
    if (!isToBeCompared(progress, clock.now())) return;
    if (compared?.generation !== sequence) {
      for (const { period, outdated } of await markOutdated(open, lake, generation, clock.now(), signal))
        logger.warn(
          { workgroup: open.workgroup.id, export: open.config.id, run: period, days: outdated?.days.length },
          'export.outdated',
        );
    }
    ledger.setProgress({ ...progress, compared: { at: formatInstant(clock.now()), generation: sequence } });
  }

  function open(exportId: string): OpenExport {
    const found = all.find((one) => one.config.id === exportId);
    if (found) return found;
    const known = all.map((one) => one.config.id).join(', ') || 'none';
    throw new InputError('the command line', [
      {
        path: 'id',
        message: `"${exportId}" is not a configured export; configured are ${known}`,
      },
    ]);
  }

  return {
    open,
    list: () => all,
    hasPending: (workgroupId) =>
      all.some(
        ({ workgroup, ledger }) =>
          workgroup.id === workgroupId && ledger.pending().some(({ state }) => state !== 'failed'),
      ),
    async work(workgroupId, signal) {
      const failures: unknown[] = [];
      for (const one of all.filter(({ workgroup }) => workgroup.id === workgroupId)) {
        if (signal.aborted) return;
        if (!hasWork(one, clock.now())) continue;
        const release = await hold(one.config.id);
        // The command line is working on it.
        if (!release) continue;
        try {
          await workOn(one, signal);
        } catch (error) {
          failures.push(error);
        } finally {
          await release();
        }
      }
      if (failures.length > 0) throw failures[0];
    },
    async run(exportId, { period: asked, corrected }, signal) {
      const one = open(exportId);
      const { ledger, workgroup } = one;
      const nowMs = clock.now();
      const period = asked ?? periodAt(one.config.range, nowMs, workgroup.timezone);
      refuseUnfinished(period, localDateOf(nowMs, workgroup.timezone));
      const release = await hold(exportId);
      if (!release)
        throw new TransientError(
          'ExportBusy',
          `another process is working on export ${exportId}; try again in a moment`,
        );
      try {
        if (!ledger.progress()) ledger.setProgress({ dueAfter: formatInstant(nowMs) });
        const last = ledger.runsOf(period.name).at(-1);
        if (last?.state === 'delivered' && !corrected) return { kind: 'already-delivered', run: last };
        const run =
          last && last.state !== 'delivered'
            ? last
            : newRun(one, period, {
                revision: (last?.revision ?? 0) + 1,
                reason: last ? 'correction' : 'by hand',
                nowMs,
              });
        return { kind: 'delivered', run: await attemptByHand(one, run, signal) };
      } finally {
        await release();
      }
    },
  };
}

/** True if there is work. Called every minute, so it reads little. */
function hasWork(open: OpenExport, nowMs: number): boolean {
  const progress = open.ledger.progress();
  return (
    !progress ||
    duePeriods(open, progress, nowMs).length > 0 ||
    open.ledger.pending().some((run) => isToBeTried(run, nowMs)) ||
    isToBeCompared(progress, nowMs)
  );
}

function isToBeTried({ state, nextAttemptAt, plannedAt }: ExportRun, nowMs: number): boolean {
  return state !== 'failed' && Date.parse(nextAttemptAt ?? plannedAt) <= nowMs;
}

function isToBeCompared({ compared }: ExportProgress, nowMs: number): boolean {
  return !compared || nowMs - Date.parse(compared.at) >= COMPARE_MS;
}

function openExport(
  { workgroups }: Pick<Config, 'workgroups'>,
  dataDir: string,
  config: ExportConfig,
): OpenExport {
  const workgroup = workgroups.find(({ id }) => id === config.workgroup)!;
  return { config, workgroup, ledger: openLedger(dataDir, config.id) };
}

/** Refuses a period that has not ended, because its file would be incomplete. */
function refuseUnfinished({ name, endDay }: ExportPeriod, today: string): void {
  if (endDay < today) return;
  throw new InputError('the command line', [
    { path: '--period', message: `${name} has not ended yet; today is ${today}` },
  ]);
}
