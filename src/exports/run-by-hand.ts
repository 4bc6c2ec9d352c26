import { errorMessage, InputError, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import { formatInstant, localDateOf } from '../lib/time.ts';
import { attemptRun, type ExportDeps, type OpenExport } from './attempt-run.ts';
import { newRun } from './due-periods.ts';
import { type ExportRun, retryAdvice } from './export-ledger.ts';
import { type ExportPeriod, periodAt } from './export-period.ts';

/** What a person asks of an export. */
export interface RunRequest {
  /** Default: the period of its range. */
  period?: ExportPeriod;
  /** Makes a new revision of a period that was delivered. */
  corrected: boolean;
}

export interface RunAnswer {
  kind: 'delivered' | 'already-delivered';
  run: ExportRun;
}

/**
 * Runs an export now. The lock of the export must be held.
 * @throws an error that also says when the run is tried again, or what the person can do
 */
export async function runByHand(
  open: OpenExport,
  period: ExportPeriod,
  corrected: boolean,
  deps: ExportDeps,
  signal: AbortSignal,
): Promise<RunAnswer> {
  const { ledger } = open;
  const nowMs = deps.clock.now();
  ledger.reload();
  if (!(await ledger.progress())) await ledger.setProgress({ dueAfter: formatInstant(nowMs) });
  const last = (await ledger.runsOf(period.name)).at(-1);
  if (last?.state === 'delivered' && !corrected) return { kind: 'already-delivered', run: last };
  const run =
    last && last.state !== 'delivered'
      ? last
      : newRun(open, period, {
          revision: (last?.revision ?? 0) + 1,
          reason: last ? 'correction' : 'by hand',
          nowMs,
        });
  try {
    return { kind: 'delivered', run: await attemptRun(open, run, deps, signal) };
  } catch (error) {
    throw signal.aborted ? error : await withAdvice(open, run, error);
  }
}

/** The period that is asked for. @throws InputError if it has not ended: its file would be incomplete */
export function periodToRun(
  { config, workgroup: { timezone } }: OpenExport,
  asked: ExportPeriod | undefined,
  nowMs: number,
): ExportPeriod {
  const period = asked ?? periodAt(config.range, nowMs, timezone);
  const today = localDateOf(nowMs, timezone);
  if (period.endDay < today) return period;
  throw new InputError('the export', [
    { path: 'period', message: `${period.name} has not ended yet; today is ${today}` },
  ]);
}

async function withAdvice({ ledger }: OpenExport, { period, revision }: ExportRun, cause: unknown) {
  const failed = (await ledger.runsOf(period)).find((run) => run.revision === revision);
  const next = failed && retryAdvice(failed);
  if (!next) return cause;
  const code = failed.lastError?.code ?? 'Failed';
  const message = `${errorMessage(cause)}; ${next}`;
  return isRetryable(cause)
    ? new TransientError(code, message, { cause })
    : new TerminalError(code, message, { cause });
}
