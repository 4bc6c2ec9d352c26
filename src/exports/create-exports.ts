import type { Config } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { errorMessage, InputError, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import { formatInstant, HOUR_MS, localDateOf } from '../lib/time.ts';
import { attemptRun, type ExportDeps, type OpenExport } from './attempt-run.ts';
import { duePeriods, newRun, planDue } from './due-periods.ts';
import { afterFailure, type ExportProgress, type ExportRun, openLedger, runName } from './export-ledger.ts';
import { type ExportPeriod, periodAt } from './export-period.ts';
import { markOutdated } from './mark-outdated.ts';

export interface ExportsOptions extends ExportDeps {
  config: Pick<Config, 'workgroups' | 'exports'>;
  /**
   * Takes it upon this process to work on an export, which one process does at a time.
   * @returns gives it up; undefined while another process does it
   */
  hold(exportId: string): Promise<(() => Promise<void>) | undefined>;
}

export interface Exports {
  /** Does what has come due in a workgroup, tries again what has failed, and looks once an hour for what has changed since. */
  work(workgroupId: string, signal: AbortSignal): Promise<void>;
  /**
   * Runs an export now, for a period that is over: that of its range by default. What has been delivered is not done again.
   * @param corrected makes a new revision
   * @throws InputError where it cannot be asked so, TransientError where it has failed; then it is tried again by itself
   */
  run(
    exportId: string,
    request: { period?: ExportPeriod; corrected: boolean },
    signal: AbortSignal,
  ): Promise<{ kind: 'delivered' | 'already-delivered'; run: ExportRun }>;
  /** An export that is configured. @throws InputError where there is none */
  open(exportId: string): OpenExport;
  list(): OpenExport[];
}

const COMPARE_MS = HOUR_MS;

export function createExports(options: ExportsOptions): Exports {
  const { config, dataDir, lake, clock, logger, hold } = options;
  const all = config.exports.map((one) => openExport(config, dataDir, one));

  /** Whoever asked is told what becomes of it. */
  async function attemptByHand(open: OpenExport, run: ExportRun, signal: AbortSignal): Promise<ExportRun> {
    try {
      return await attemptRun(open, run, options, signal);
    } catch (cause) {
      const failed = open.ledger.runsOf(run.period).find(({ revision }) => revision === run.revision);
      const next = failed && !signal.aborted && afterFailure(failed);
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
        // It stands in the ledger, and others must not wait for it.
        logger.warn(
          { shard: open.workgroup.id, export: open.config.id, run: runName(run), error: errorMessage(error) },
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
          { shard: open.workgroup.id, export: open.config.id, run: period, days: outdated?.days.length },
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
        message: `"${exportId}" is not one of the exports of the configuration; there are ${known}`,
      },
    ]);
  }

  return {
    open,
    list: () => all,
    async work(workgroupId, signal) {
      const failures: unknown[] = [];
      for (const one of all.filter(({ workgroup }) => workgroup.id === workgroupId)) {
        if (signal.aborted) return;
        if (!hasWork(one, clock.now())) continue;
        const release = await hold(one.config.id);
        // The command line is at it, and leaves nothing to do.
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

/** Whether there is anything to do: asked every minute, so that it looks at little. */
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

/** A file of a part of its period would stand for the whole. */
function refuseUnfinished({ name, endDay }: ExportPeriod, today: string): void {
  if (endDay < today) return;
  throw new InputError('the command line', [
    { path: '--period', message: `${name} is not over yet; today is ${today}` },
  ]);
}
