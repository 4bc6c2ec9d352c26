import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Audit } from '../audit/audit.ts';
import { auditRun } from '../audit/audited-run.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { errorMessage, isRetryable, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, formatInstant, HOUR_MS, MINUTE_MS } from '../lib/time.ts';
import type { LakeReader } from '../report/lake-reader.ts';
import { contentTypeOf, deliver } from './deliver.ts';
import { type ExportLedger, type ExportRun, runName } from './export-ledger.ts';
import { parsePeriod } from './export-period.ts';
import { writeExportFile } from './write-export-file.ts';

/** The parts that exports need. */
export interface ExportDeps {
  dataDir: string;
  /** Reads the lake. Writes below `exports/` of the data folder. */
  lake: LakeReader;
  audit: Audit;
  clock: Clock;
  logger: Logger;
}

/** One export with its ledger and its report. */
export interface OpenExport {
  config: ExportConfig;
  workgroup: WorkgroupConfig;
  ledger: ExportLedger;
}

/**
 * Makes the file of a run if it does not exist, and delivers it. The ledger is updated before each step, so the next attempt continues after a
 * crash, and delivers the same file.
 * @throws the error; the ledger then has it, with the time of the next attempt
 */
export async function attemptRun(
  { config, workgroup, ledger }: OpenExport,
  run: ExportRun,
  deps: ExportDeps,
  signal: AbortSignal,
): Promise<ExportRun> {
  const { audit, clock, logger } = deps;
  let current = run;
  const keep = (facts: Partial<ExportRun>) => {
    current = { ...current, ...facts };
    ledger.save(current);
  };
  try {
    await auditRun(audit, workgroup.id, {
      what: 'export',
      target: `${config.id} ${runName(run)}`,
      data: { report: config.report, reason: run.reason, attempt: run.attempts + 1 },
      work: async () => {
        if (!(await isInOutbox(ledger, current))) {
          keep({ state: 'planned' });
          keep({
            file: await writeRun({ config, workgroup, ledger }, current, deps, signal),
            state: 'waiting',
          });
        }
        const file = current.file!;
        const to = await deliver(
          config.destination,
          {
            ...file,
            path: join(ledger.outbox, file.name),
            contentType: contentTypeOf(file.name),
            idempotencyKey: `${config.id}/${runName(current)}`,
          },
          signal,
        );
        const { lastError, nextAttemptAt, ...rest } = current;
        current = {
          ...rest,
          state: 'delivered',
          attempts: run.attempts + 1,
          delivered: { at: formatInstant(clock.now()), to },
        };
        ledger.save(current);
        await rm(join(ledger.outbox, file.name), { force: true });
      },
      summary: () => ({ rows: current.file?.rows, bytes: current.file?.bytes, to: current.delivered?.to }),
    });
  } catch (error) {
    // An abort is not a failure.
    if (!signal.aborted) keep(failureOf(run, error, clock.now()));
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
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'Failed';
  const retryMs = Math.min(RETRY_MS_MAX, MINUTE_MS * 2 ** (attempts - 1));
  return {
    attempts,
    lastError: { at: formatInstant(nowMs), code, message: errorMessage(error) },
    // The refusal of a report is tried again, because its data can come later, such as the scenario of a budget.
    ...(isRetryable(error)
      ? { nextAttemptAt: formatInstant(nowMs + retryMs) }
      : { state: 'failed' as const, nextAttemptAt: undefined }),
  };
}

async function isInOutbox({ outbox }: ExportLedger, { state, file }: ExportRun): Promise<boolean> {
  if (state === 'planned' || !file) return false;
  const found = await stat(join(outbox, file.name)).catch(() => undefined);
  return found?.size === file.bytes;
}

async function writeRun(
  { config, workgroup, ledger }: OpenExport,
  run: ExportRun,
  { lake }: ExportDeps,
  signal: AbortSignal,
) {
  const generation = await lake.current(workgroup.id);
  if (!generation)
    throw new TransientError(
      'NothingPublished',
      `workgroup ${workgroup.id} has published nothing yet; start a worker with "wattline up"`,
    );
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
