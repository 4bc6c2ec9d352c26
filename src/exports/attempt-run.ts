import { join } from 'node:path';
import type { Audit } from '../audit/audit.ts';
import { auditRun } from '../audit/audited-run.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { errorCode, errorMessage, isRetryable, TransientError } from '../lib/errors.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, formatInstant, HOUR_MS, MINUTE_MS } from '../lib/time.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { contentTypeOf, deliver } from './deliver.ts';
import type { EmailDeps } from './deliver-email.ts';
import { type ExportLedger, type ExportRun, runName } from './export-ledger.ts';
import { parsePeriod } from './export-period.ts';
import { requireGeneration } from './require-generation.ts';
import { writeExportFile } from './write-export-file.ts';

/** The parts that exports need. */
export interface ExportDeps extends EmailDeps {
  /** Reads the lake. Writes below `exports/` of the data folder. */
  lake: LakeReader;
  audit: Audit;
  clock: Clock;
  logger: Logger;
}

/** One export with its workgroup and its ledger. */
export interface OpenExport {
  config: ExportConfig;
  workgroup: WorkgroupConfig;
  ledger: ExportLedger;
}

/**
 * Makes the file of a run if it does not exist, and delivers it. The ledger is updated before each step, so
 * the next attempt continues after a crash, and delivers the same file.
 * @throws the error of the attempt, after it is stored in the ledger with the time of the next attempt.
 *   `ExportBusy` or `ExportTaken` if another process has the run
 */
export async function attemptRun(
  { config, workgroup, ledger }: OpenExport,
  run: ExportRun,
  deps: ExportDeps,
  signal: AbortSignal,
): Promise<ExportRun> {
  const { audit, clock, logger } = deps;
  let current = run;
  const keep = async (facts: Partial<ExportRun>, progress: { isWorking: boolean }) => {
    current = { ...current, ...facts };
    await ledger.save(current, progress);
  };
  await ledger.claim(run);
  try {
    await auditRun(audit, workgroup.id, {
      what: 'export',
      target: `${config.id} ${runName(run)}`,
      data: { report: config.report, reason: run.reason, attempt: run.attempts + 1 },
      work: async () => {
        let { file } = current;
        if (!file || !(await ledger.provideFile(current))) {
          if (current.state !== 'planned') await keep({ state: 'planned' }, { isWorking: true });
          file = await writeRun({ config, workgroup, ledger }, current, deps, signal);
          await ledger.keepFile(file, signal);
        }
        // If another process has taken the export, this throws, so nothing is delivered twice.
        await keep({ file, state: 'waiting' }, { isWorking: true });
        const to = await deliver(
          { config, workgroup, period: parsePeriod(current.period)! },
          {
            ...file,
            path: join(ledger.outbox, file.name),
            contentType: contentTypeOf(file.name),
            idempotencyKey: `${config.id}/${runName(current)}`,
          },
          deps,
          signal,
        );
        const { lastError, nextAttemptAt, ...rest } = current;
        current = {
          ...rest,
          state: 'delivered',
          attempts: run.attempts + 1,
          delivered: { at: formatInstant(clock.now()), to },
        };
        await ledger.save(current);
        await ledger.dropFile(file);
      },
      summary: () => ({ rows: current.file?.rows, bytes: current.file?.bytes, to: current.delivered?.to }),
    });
  } catch (error) {
    // An abort is not a failure. If another process has the export, this process must not change it.
    if (!signal.aborted && !isElsewhere(error) && current.state !== 'delivered')
      await keep(failureOf(run, error, clock.now()), { isWorking: false });
    throw error;
  }
  const { rows, bytes, generation } = current.file!;
  logger.info(
    { workgroup: workgroup.id, export: config.id, run: runName(run), rows, bytes, generation },
    'export.delivered',
  );
  return current;
}

const RETRY_MS_MAX = HOUR_MS;

function failureOf(run: ExportRun, error: unknown, nowMs: number): Partial<ExportRun> {
  const attempts = run.attempts + 1;
  const code = errorCode(error) ?? 'Failed';
  const retryMs = growingWaitMs(attempts, MINUTE_MS, RETRY_MS_MAX);
  return {
    attempts,
    lastError: { at: formatInstant(nowMs), code, message: errorMessage(error) },
    // A refusal of the report is tried again too, because its data can come later. An example is the scenario
    // of a budget.
    ...(isRetryable(error)
      ? { nextAttemptAt: formatInstant(nowMs + retryMs) }
      : { state: 'failed' as const, nextAttemptAt: undefined }),
  };
}

/** True if another process works on the run, or has changed it. */
export function isElsewhere(error: unknown): boolean {
  return error instanceof TransientError && (error.code === 'ExportBusy' || error.code === 'ExportTaken');
}

async function writeRun(
  { config, workgroup, ledger }: OpenExport,
  run: ExportRun,
  { lake }: ExportDeps,
  signal: AbortSignal,
) {
  const generation = await requireGeneration(lake, workgroup.id);
  return writeExportFile(
    lake,
    generation,
    {
      query: { config, workgroup, period: parsePeriod(run.period)! },
      format: config.format,
      name: `${config.id}_${runName(run)}.${config.format}`,
      folder: ledger.outbox,
    },
    signal,
  );
}
