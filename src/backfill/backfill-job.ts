import type { Audit } from '../audit/audit.ts';
import { auditRun } from '../audit/audited-run.ts';
import { createRestSource, type RestSource } from '../client/rest-source.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { formatInstant } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { readStageProgress } from '../warehouse/stage-progress.ts';
import { askAvailability } from './availability.ts';
import {
  endBackfill,
  forgetPositions,
  type ListedBackfill,
  listBackfills,
  stateOf,
} from './backfill-ledger.ts';
import type { BackfillPlan, BackfillRequest, UpstreamAddress } from './backfill-request.ts';
import { type OpenGap, openGaps } from './plan-gaps.ts';
import {
  type BackfillOptions,
  type BackfillOutcome,
  type BackfillProgress,
  interpreterOf,
  planBackfill,
  runBackfill,
} from './run-backfill.ts';

/** Backfills of one open warehouse, one at a time, in the background. */
export interface BackfillJob {
  /**
   * Starts a backfill, or continues an unfinished one with the same request. Does nothing if it is already
   * running.
   * @throws TransientError if another backfill is running
   */
  start(request: BackfillRequest, upstream: UpstreamAddress | undefined): void;
  /** @throws the error of the last backfill */
  state(): Promise<BackfillJobState>;
  /** Stops the current backfill. It can be continued later. */
  stop(): Promise<void>;
  /** Plans a request without starting it. */
  plan(request: BackfillRequest, upstream: UpstreamAddress | undefined): Promise<BackfillPlan>;
  list(): Promise<ListedBackfill[]>;
  /** Cancels a backfill. @throws TerminalError if it does not exist or has ended */
  cancel(backfillId: number): Promise<void>;
  gaps(upstream: UpstreamAddress | undefined): Promise<OpenGap[]>;
}

export type BackfillJobState =
  | { kind: 'idle' }
  | { kind: 'running'; progress: BackfillProgress }
  | { kind: 'ended'; outcome: BackfillOutcome; rolledUpBatchId: number; publishedBatchId: number };

interface BackfillJobOptions extends BackfillOptions {
  audit: Audit;
}

interface Run {
  request: BackfillRequest;
  progress: BackfillProgress;
  controller: AbortController;
  whenEnded: Promise<void>;
  result: { outcome: BackfillOutcome } | { error: unknown } | undefined;
}

export function createBackfillJob(shard: Shard, options: BackfillJobOptions): BackfillJob {
  const { workgroup, clock } = options;
  let run: Run | undefined;

  function begin(request: BackfillRequest, upstream: UpstreamAddress | undefined): Run {
    const controller = new AbortController();
    const begun: Run = {
      request,
      controller,
      progress: nothingYet(),
      result: undefined,
      whenEnded: Promise.resolve(),
    };
    begun.whenEnded = auditRun(options.audit, workgroup.id, {
      what: 'backfill',
      target: targetOf(request),
      data: { ...request },
      work: () =>
        withSource(upstream, (source) =>
          runBackfill(shard, request, { ...options, source, signal: controller.signal }, begun.progress),
        ),
      summary: ({ kind, backfillId, messagesLanded }) => ({ outcome: kind, backfillId, messagesLanded }),
    }).then(
      (outcome) => {
        begun.result = { outcome };
      },
      (error: unknown) => {
        begun.result = { error: controller.signal.aborted ? stoppedError() : error };
      },
    );
    return begun;
  }

  return {
    start(request, upstream) {
      if (!run || run.result) run = begin(request, upstream);
      else if (JSON.stringify(run.request) !== JSON.stringify(request)) {
        throw new TransientError(
          'BackfillRunning',
          run.progress.backfillId === undefined
            ? 'another backfill is being planned; try again in a moment'
            : `backfill ${run.progress.backfillId} is running; wait until it has finished, or cancel it with "wattline backfill cancel ${run.progress.backfillId}"`,
        );
      }
    },
    async state() {
      if (!run) return { kind: 'idle' };
      if (!run.result) return { kind: 'running', progress: { ...run.progress } };
      if ('error' in run.result) throw run.result.error;
      return {
        kind: 'ended',
        outcome: run.result.outcome,
        ...(await shard.read((connection) => readStageProgress(connection, workgroup))),
      };
    },
    async stop() {
      run?.controller.abort();
      await run?.whenEnded;
    },
    plan: (request, upstream) =>
      withSource(upstream, (source) =>
        planBackfill(shard, request, { ...options, source, signal: new AbortController().signal }),
      ),
    list: () => listBackfills(shard),
    async cancel(backfillId) {
      if (await endBackfill(shard, backfillId, 'cancelled', clock)) {
        const isUnderWay = run && !run.result && run.progress.backfillId === backfillId;
        if (!isUnderWay) await forgetPositions(shard, backfillId);
        return;
      }
      const state = await stateOf(shard, backfillId);
      throw new TerminalError(
        'NotRunning',
        state === undefined
          ? `there is no backfill ${backfillId}; see "wattline backfill list"`
          : `backfill ${backfillId} has already ended (${state})`,
      );
    },
    gaps: (upstream) =>
      withSource(upstream, (source) =>
        openGaps(shard, (fromMs) =>
          askAvailability(source, interpreterOf(shard, options), fromMs, new AbortController().signal).catch(
            (error: unknown) => {
              if (error instanceof TransientError) return error;
              throw error;
            },
          ),
        ),
      ),
  };
}

async function withSource<Result>(
  upstream: UpstreamAddress | undefined,
  work: (source: RestSource) => Promise<Result>,
): Promise<Result> {
  if (!upstream)
    throw new TransientError('NoUpstream', 'the process that has the warehouse open reads no stream');
  const source = createRestSource({ ...upstream, connectionsMax: 1 });
  try {
    return await work(source);
  } finally {
    await source.close();
  }
}

function targetOf(request: BackfillRequest): string {
  if (request.source === 'gaps' || request.source === 'quarantine') return request.source;
  const to = request.toMs === undefined ? '' : formatInstant(request.toMs);
  return `${request.source} ${formatInstant(request.fromMs)}/${to}`;
}

function nothingYet(): BackfillProgress {
  return {
    backfillId: undefined,
    pieces: 0,
    piecesDone: 0,
    messagesRead: 0,
    messagesLanded: 0,
    part: 0,
  };
}

function stoppedError(): TransientError {
  return new TransientError(
    'BackfillStopped',
    'the backfill was stopped; run the same command again to continue',
  );
}
