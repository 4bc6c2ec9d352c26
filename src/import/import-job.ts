import type { Audit } from '../audit/audit.ts';
import { auditRun } from '../audit/audited-run.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { readStageProgress } from '../warehouse/stage-progress.ts';
import { type ImportOutcome, importFile } from './import-file.ts';
import { type ImportProgress, type ImportRequest, shownPathOf } from './import-request.ts';

/** Imports files into an open warehouse, one at a time, in the background. */
export interface ImportJob {
  /**
   * Starts the import of a file. Does nothing if this file is already being imported. A temporary file is
   * another one for each command, because a second command can have other rows below the same shown path.
   * @throws TransientError if another file is being imported
   */
  start(request: ImportRequest): void;
  /** @throws the error of the last file */
  state(): Promise<ImportState>;
  /** Stops the current import. It can be continued later. */
  stop(): Promise<void>;
}

export type ImportState =
  | { kind: 'idle' }
  | { kind: 'running'; path: string; progress: ImportProgress }
  | {
      kind: 'ended';
      path: string;
      outcome: ImportOutcome;
      /** The last batch that every energy stream has read, and the last batch with its energy in the lake. */
      rolledUpBatchId: number;
      publishedBatchId: number;
    };

interface ImportJobOptions {
  workgroup: WorkgroupConfig;
  threads: number;
  /** Records each imported file. */
  audit: Audit;
  clock: Clock;
  logger: Logger;
}

interface Run {
  request: ImportRequest;
  progress: ImportProgress | undefined;
  controller: AbortController;
  whenEnded: Promise<void>;
  result: { outcome: ImportOutcome } | { error: unknown } | undefined;
}

export function createImportJob(shard: Shard, options: ImportJobOptions): ImportJob {
  let run: Run | undefined;

  function begin(request: ImportRequest): Run {
    const controller = new AbortController();
    const begun: Run = {
      request,
      controller,
      progress: undefined,
      result: undefined,
      whenEnded: Promise.resolve(),
    };
    const onProgress = (progress: ImportProgress) => {
      begun.progress = progress;
    };
    const { table } = request;
    begun.whenEnded = auditRun(options.audit, options.workgroup.id, {
      what: 'import',
      target: shownPathOf(request),
      data: { table },
      work: () => importFile(shard, request, { ...options, signal: controller.signal, onProgress }),
      summary: ({ kind, counts: { rejected: _, ...counts } }) => ({ outcome: kind, ...counts }),
    }).then(
      (outcome) => {
        begun.result = { outcome };
      },
      (error: unknown) => {
        begun.result = { error: controller.signal.aborted ? stoppedError(request) : error };
      },
    );
    return begun;
  }

  return {
    start(request) {
      if (!run || run.result) run = begin(request);
      else if (JSON.stringify(run.request) !== JSON.stringify(request)) {
        throw new TransientError(
          'ImportRunning',
          `${shownPathOf(run.request)} is being imported; wait until it has finished`,
        );
      }
    },
    async state() {
      if (!run) return { kind: 'idle' };
      const path = shownPathOf(run.request);
      if (!run.result) return { kind: 'running', path, progress: { ...nothingYet, ...run.progress } };
      if ('error' in run.result) throw run.result.error;
      const { outcome } = run.result;
      const stages = await shard.read((connection) => readStageProgress(connection, options.workgroup));
      return { kind: 'ended', path, outcome, ...stages };
    },
    async stop() {
      run?.controller.abort();
      await run?.whenEnded;
    },
  };
}

const nothingYet: ImportProgress = {
  phase: 'checking',
  fileBytes: 0,
  bytesChecked: 0,
  rowsRead: 0,
  rowsLanded: 0,
  rowsRejected: 0,
  rowsExpected: undefined,
};

function stoppedError(request: ImportRequest): TransientError {
  return new TransientError(
    'ImportStopped',
    `the import of ${shownPathOf(request)} was stopped; run the import again to continue`,
  );
}
