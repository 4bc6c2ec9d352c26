import type { Config } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { InputError, TransientError } from '../lib/errors.ts';
import { type ExportDeps, isElsewhere, type OpenExport } from './attempt-run.ts';
import type { ExportLedger } from './export-ledger.ts';
import { type ExportState, exportState } from './list-exports.ts';
import { periodToRun, type RunAnswer, type RunRequest, runByHand } from './run-by-hand.ts';
import { createScheduledExport } from './scheduled-export.ts';

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
   * Runs an export now, for a period that has ended. Does nothing if it was already delivered, unless it is
   * `corrected`.
   * @throws InputError if the request is wrong, TransientError if the run failed; it is then retried
   *   automatically
   */
  run(exportId: string, request: RunRequest, signal: AbortSignal): Promise<RunAnswer>;
  /** The configured export. @throws InputError if it does not exist */
  open(exportId: string): OpenExport;
  list(): OpenExport[];
  /**
   * The states of the exports at the last call of `work`. Exports that it has not looked at yet are left out.
   */
  states(): ReadonlyMap<OpenExport, ExportState>;
}

export function createExports(options: ExportsOptions): Exports {
  const { config, clock, hold } = options;
  const deps: ExportDeps = { ...options, mail: config.mail, publicUrl: config.http.publicUrl };
  const all = config.exports.map((settings) => {
    const open = openExport(config, settings, options.openLedger(settings));
    return { open, scheduled: createScheduledExport(open, deps) };
  });
  const exportsOf = (workgroupId: string) => all.filter(({ open }) => open.workgroup.id === workgroupId);
  const states = new Map<OpenExport, ExportState>();

  /**
   * Updates the state of an export. This reads all runs, so it is done only if something can have changed:
   * there was work, a person has run the export, or there are outdated files, which a person may have
   * delivered again.
   */
  async function noteState(open: OpenExport, hasWorked: boolean): Promise<void> {
    const known = states.get(open);
    const left = (await open.ledger.pending()).length;
    if (hasWorked || !known || known.outdated > 0 || left !== known.pending + known.failed)
      states.set(open, await exportState(open.config.id, open.ledger));
  }

  function open(exportId: string): OpenExport {
    const found = all.find(({ open }) => open.config.id === exportId);
    if (found) return found.open;
    const known = config.exports.map(({ id }) => id).join(', ') || 'none';
    throw new InputError('the export', [
      {
        path: 'id',
        message: `"${exportId}" is not a configured export; configured are ${known}`,
      },
    ]);
  }

  return {
    open,
    list: () => all.map(({ open }) => open),
    states: () => states,
    async hasPending(workgroupId) {
      for (const { open } of exportsOf(workgroupId))
        if ((await open.ledger.pending()).some(({ state }) => state !== 'failed')) return true;
      return false;
    },
    async work(workgroupId, signal) {
      const failures: unknown[] = [];
      for (const { open, scheduled } of exportsOf(workgroupId)) {
        if (signal.aborted) return;
        try {
          // Undefined if the command line is working on it.
          const release = (await scheduled.hasWork()) ? await hold(open.config.id) : undefined;
          if (release) await scheduled.work(signal).finally(release);
          await noteState(open, release !== undefined);
        } catch (error) {
          // Another process works on it. The next turn looks again.
          if (!isElsewhere(error)) failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
    async run(exportId, { period: asked, corrected }, signal) {
      const opened = open(exportId);
      const period = periodToRun(opened, asked, clock.now());
      const release = await hold(exportId);
      if (!release)
        throw new TransientError(
          'ExportBusy',
          `another process works on export ${exportId}; try again in a moment`,
        );
      return runByHand(opened, period, corrected, deps, signal).finally(release);
    },
  };
}

function openExport(
  { workgroups }: Pick<Config, 'workgroups'>,
  config: ExportConfig,
  ledger: ExportLedger,
): OpenExport {
  const workgroup = workgroups.find(({ id }) => id === config.workgroup)!;
  return { config, workgroup, ledger };
}
