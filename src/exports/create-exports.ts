import type { Config } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { errorMessage, InputError, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import { formatInstant, HOUR_MS, localDateOf } from '../lib/time.ts';
import { attemptRun, type ExportDeps, isElsewhere, type OpenExport } from './attempt-run.ts';
import { duePeriods, newRun, planDue } from './due-periods.ts';
import {
  type ExportLedger,
  type ExportProgress,
  type ExportRun,
  retryAdvice,
  runName,
} from './export-ledger.ts';
import { type ExportPeriod, periodAt } from './export-period.ts';
import { type ExportState, exportState } from './list-exports.ts';
import { markOutdated } from './mark-outdated.ts';

interface ExportsOptions extends Omit<ExportDeps, 'mail' | 'publicUrl'> {
  config: Pick<Config, 'workgroups' | 'exports' | 'mail' | 'http'>;
  /**
   * Locks an export, because only one process may work on it.
   * @returns the unlock; undefined if another process has the lock
   */
  hold(exportId: string): Promise<(() => Promise<void>) | undefined>;
  openLedger(config: ExportConfig): ExportLedger;
}

export interface Exports {
  /**
   * Runs due exports of a workgroup, retries failed ones, and once an hour compares delivered files with the
   * lake.
   */
  work(workgroupId: string, signal: AbortSignal): Promise<void>;
  /** True if a run of a workgroup is planned or will be retried. */
  hasPending(workgroupId: string): Promise<boolean>;
  /**
   * Runs an export now, for a period that has ended. Default: the period of its range. Does nothing if it was
   * already delivered.
   * @param corrected makes a new revision
   * @throws InputError if the request is wrong, TransientError if the run failed; it is then retried
   *   automatically
   */
  run(
    exportId: string,
    request: { period?: ExportPeriod; corrected: boolean },
    signal: AbortSignal,
  ): Promise<{ kind: 'delivered' | 'already-delivered'; run: ExportRun }>;
  /** The configured export. @throws InputError if it does not exist */
  open(exportId: string): OpenExport;
  list(): OpenExport[];
  /**
   * The states of the exports as `work` has last found them. Exports that it has not looked at are left out.
   */
  states(): ReadonlyMap<OpenExport, ExportState>;
}

const COMPARE_MS = HOUR_MS;

export function createExports(options: ExportsOptions): Exports {
  const { config, lake, clock, logger, hold } = options;
  const deps: ExportDeps = { ...options, mail: config.mail, publicUrl: config.http.publicUrl };
  const all = config.exports.map((one) => openExport(config, one, options.openLedger(one)));
  /** When an export was last looked at without a new generation, because this is not stored. */
  const lookedAtMs = new Map<string, number>();
  const states = new Map<OpenExport, ExportState>();

  /**
   * Attempts a run that a person asked for. Its error also says when it is tried again, or what the person
   * can do.
   */
  async function attemptByHand(open: OpenExport, run: ExportRun, signal: AbortSignal): Promise<ExportRun> {
    try {
      return await attemptRun(open, run, deps, signal);
    } catch (cause) {
      const failed = (await open.ledger.runsOf(run.period)).find(({ revision }) => revision === run.revision);
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
    ledger.reload();
    await planDue(open, clock.now());
    for (const run of await ledger.pending()) {
      if (signal.aborted) return;
      if (!isToBeTried(run, clock.now())) continue;
      try {
        await attemptRun(open, run, deps, signal);
      } catch (error) {
        if (signal.aborted || isElsewhere(error)) return;
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
    const generation = await lake.newestGeneration(open.workgroup.id);
    const progress = await ledger.progress();
    if (!generation || !progress || signal.aborted) return;
    const { compared } = progress;
    const { sequence } = generation.commit;
    if (!isToBeCompared(open.config.id, progress)) return;
    lookedAtMs.set(open.config.id, clock.now());
    if (compared?.generation === sequence) return;
    for (const { period, outdated } of await markOutdated(open, lake, generation, clock.now(), signal))
      logger.warn(
        { workgroup: open.workgroup.id, export: open.config.id, run: period, days: outdated?.days.length },
        'export.outdated',
      );
    await ledger.setProgress({
      ...progress,
      compared: { at: formatInstant(clock.now()), generation: sequence },
    });
  }

  /**
   * Reads all runs, so only if something can have changed: there was work, or a person has run it, or may
   * deliver an outdated file again.
   */
  async function noteState(open: OpenExport, hasWorked: boolean): Promise<void> {
    const known = states.get(open);
    const left = (await open.ledger.pending()).length;
    if (hasWorked || !known || known.outdated > 0 || left !== known.pending + known.failed)
      states.set(open, await exportState(open.config.id, open.ledger));
  }

  /** True if there is work. Called every minute, so it reads little. */
  async function hasWork(open: OpenExport): Promise<boolean> {
    const nowMs = clock.now();
    const progress = await open.ledger.progress();
    return (
      !progress ||
      duePeriods(open, progress, nowMs).length > 0 ||
      (await open.ledger.pending()).some((run) => isToBeTried(run, nowMs)) ||
      isToBeCompared(open.config.id, progress)
    );
  }

  function isToBeCompared(exportId: string, { compared }: ExportProgress): boolean {
    const storedMs = compared ? Date.parse(compared.at) : Number.NEGATIVE_INFINITY;
    const lastMs = Math.max(storedMs, lookedAtMs.get(exportId) ?? storedMs);
    return clock.now() - lastMs >= COMPARE_MS;
  }

  function open(exportId: string): OpenExport {
    const found = all.find((one) => one.config.id === exportId);
    if (found) return found;
    const known = all.map((one) => one.config.id).join(', ') || 'none';
    throw new InputError('the export', [
      {
        path: 'id',
        message: `"${exportId}" is not a configured export; configured are ${known}`,
      },
    ]);
  }

  return {
    open,
    list: () => all,
    states: () => states,
    async hasPending(workgroupId) {
      for (const { workgroup, ledger } of all) {
        if (workgroup.id !== workgroupId) continue;
        if ((await ledger.pending()).some(({ state }) => state !== 'failed')) return true;
      }
      return false;
    },
    async work(workgroupId, signal) {
      const failures: unknown[] = [];
      for (const one of all.filter(({ workgroup }) => workgroup.id === workgroupId)) {
        if (signal.aborted) return;
        try {
          const isDue = await hasWork(one);
          // Undefined if the command line is working on it.
          const release = isDue ? await hold(one.config.id) : undefined;
          if (release) await workOn(one, signal).finally(release);
          await noteState(one, release !== undefined);
        } catch (error) {
          // Another process works on it. The next turn looks again.
          if (!isElsewhere(error)) failures.push(error);
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
        ledger.reload();
        if (!(await ledger.progress())) await ledger.setProgress({ dueAfter: formatInstant(nowMs) });
        const last = (await ledger.runsOf(period.name)).at(-1);
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

function isToBeTried({ state, nextAttemptAt, plannedAt }: ExportRun, nowMs: number): boolean {
  return state !== 'failed' && Date.parse(nextAttemptAt ?? plannedAt) <= nowMs;
}

function openExport(
  { workgroups }: Pick<Config, 'workgroups'>,
  config: ExportConfig,
  ledger: ExportLedger,
): OpenExport {
  const workgroup = workgroups.find(({ id }) => id === config.workgroup)!;
  return { config, workgroup, ledger };
}

/** Refuses a period that has not ended, because its file would be incomplete. */
function refuseUnfinished({ name, endDay }: ExportPeriod, today: string): void {
  if (endDay < today) return;
  throw new InputError('the export', [
    { path: 'period', message: `${name} has not ended yet; today is ${today}` },
  ]);
}
