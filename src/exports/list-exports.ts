import type { ExportConfig } from '../config/export-settings.ts';
import { nextCronInstant, parseCron } from '../lib/cron.ts';
import type { UtcMs } from '../lib/time.ts';
import type { ExportLedger, ExportRun } from './export-ledger.ts';

/** The state of the runs of an export. */
export interface ExportState {
  id: string;
  lastRun: ExportRun | null;
  /** When a file was last delivered. */
  lastDeliveredAt: string | null;
  /** Files that wait for delivery or cannot be made. */
  pending: number;
  failed: number;
  /** The runs that are not delivered, and whose last attempt failed. */
  troubled: ExportRun[];
  outdated: number;
  /** The difference of the energy of outdated files, Wh. */
  outdatedWh: number;
}

export async function exportState(id: string, ledger: Pick<ExportLedger, 'runs'>): Promise<ExportState> {
  return stateOfRuns(id, await ledger.runs());
}

/** @param runs all runs of an export, sorted by period */
export function stateOfRuns(id: string, runs: readonly ExportRun[]): ExportState {
  const current = [...new Map(runs.map((run) => [run.period, run])).values()];
  const outdated = current.flatMap((run) => run.outdated ?? []);
  const days = outdated.flatMap((one) => one.days);
  return {
    id,
    lastRun: runs.at(-1) ?? null,
    lastDeliveredAt:
      runs
        .flatMap(({ delivered }) => delivered?.at ?? [])
        .sort()
        .at(-1) ?? null,
    pending: runs.filter(({ state }) => state === 'planned' || state === 'waiting').length,
    failed: runs.filter(({ state }) => state === 'failed').length,
    troubled: runs.filter((run) => run.state !== 'delivered' && run.lastError),
    outdated: outdated.length,
    outdatedWh: days.reduce((sum, { beforeWh, afterWh }) => sum + (afterWh ?? 0) - (beforeWh ?? 0), 0),
  };
}

/** The next time at which an export is due. Undefined for an export without a schedule. */
export function nextRunMs(
  { schedule }: Pick<ExportConfig, 'schedule'>,
  zone: string,
  nowMs: UtcMs,
): UtcMs | undefined {
  const pattern = parseCron(schedule ?? '');
  return typeof pattern === 'string' ? undefined : nextCronInstant(pattern, zone, nowMs);
}
