import type { Audit } from '../audit/audit.ts';
import { auditRun } from '../audit/run.ts';
import { createInterpreter } from '../client/interpret.ts';
import { createRestSource, type RestSource } from '../client/rest.ts';
import type { WorkgroupConfig } from '../config.ts';
import { TerminalError, TransientError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Clock, formatInstant, type UtcMs } from '../time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import { takenIn } from '../warehouse/taken-in.ts';
import { askAvailability } from './availability.ts';
import { fillFromArchive, planArchive } from './from-archive.ts';
import { fillFromStream } from './from-stream.ts';
import {
  type BackfillEntry,
  beginBackfill,
  endBackfill,
  findUnfinished,
  finishChunk,
  forgetPositions,
  type ListedBackfill,
  listBackfills,
  readBackfill,
  stateOf,
} from './ledger.ts';
import { createPace } from './pace.ts';
import { type OpenGap, openGaps, planGaps, planStream } from './plan.ts';
import type { BackfillPlan, BackfillRequest, Chunk, UpstreamAddress } from './request.ts';

/** Backfills of one open warehouse, one at a time, in the background of what else it does. */
export interface BackfillJob {
  /**
   * Begins, or goes on with the same that has not ended. Asking again for the one that is under way changes nothing.
   * @throws TransientError where another is under way
   */
  start(request: BackfillRequest, upstream: UpstreamAddress | undefined): void;
  /** @throws what the last one has failed with */
  state(): Promise<BackfillJobState>;
  /** Stops what is under way, so that it can be gone on with. */
  stop(): Promise<void>;
  /** What a request would come to; nothing is begun. */
  plan(request: BackfillRequest, upstream: UpstreamAddress | undefined): Promise<BackfillPlan>;
  list(): Promise<ListedBackfill[]>;
  /** Ends a backfill where it stands. @throws TerminalError where there is none that could be ended */
  cancel(backfillId: number): Promise<void>;
  gaps(upstream: UpstreamAddress | undefined): Promise<OpenGap[]>;
}

export type BackfillJobState =
  | { kind: 'idle' }
  | { kind: 'running'; progress: BackfillProgress }
  | { kind: 'ended'; outcome: BackfillOutcome; rolledUpBatchId: number; publishedBatchId: number };

export interface BackfillProgress {
  /** Undefined while it is planned. */
  backfillId: number | undefined;
  chunks: number;
  chunksDone: number;
  messagesRead: number;
  messagesLanded: number;
  /** From 0 to 1. */
  part: number;
}

export interface BackfillOutcome {
  kind: 'done' | 'cancelled';
  backfillId: number;
  resumed: boolean;
  /** In this run. */
  messagesRead: number;
  /** In all runs: messages that were not there yet; of the archive those that were read again. */
  messagesLanded: number;
  gapsFilled: number[];
  notes: string[];
  /** The last batch there is: once it was published, so was all that came of this. */
  lastBatchId: number;
}

export interface BackfillJobOptions {
  workgroup: WorkgroupConfig;
  lakeDir: string;
  audit: Audit;
  clock: Clock;
  log: Log;
}

interface Parts {
  source: RestSource;
  progress: BackfillProgress;
  signal: AbortSignal;
}

interface Run {
  request: BackfillRequest;
  progress: BackfillProgress;
  controller: AbortController;
  ended: Promise<void>;
  result: { outcome: BackfillOutcome } | { error: unknown } | undefined;
}

export function createBackfillJob(shard: Shard, options: BackfillJobOptions): BackfillJob {
  const { workgroup, lakeDir, clock, log } = options;
  const archive = { lakeDir, energyStreams: workgroup.energyStreams, clock };
  let run: Run | undefined;

  function begin(request: BackfillRequest, upstream: UpstreamAddress | undefined): Run {
    const controller = new AbortController();
    const begun: Run = {
      request,
      controller,
      progress: nothingYet(),
      result: undefined,
      ended: Promise.resolve(),
    };
    begun.ended = auditRun(options.audit, workgroup.id, {
      what: 'backfill',
      target: targetOf(request),
      data: { ...request },
      work: () => work(begun, upstream),
      summary: ({ kind, backfillId, messagesLanded }) => ({ outcome: kind, backfillId, messagesLanded }),
    }).then(
      (outcome) => {
        begun.result = { outcome };
      },
      (error: unknown) => {
        begun.result = { error: controller.signal.aborted ? stopped() : error };
      },
    );
    return begun;
  }

  async function work(
    { request, progress, controller: { signal } }: Run,
    upstream: UpstreamAddress | undefined,
  ) {
    return withSource(upstream, async (source) => {
      const entry =
        (await findUnfinished(shard, request)) ??
        (await beginBackfill(shard, request, await planOf(request, source, signal), clock));
      const kind = await fillAll(entry, request, { source, progress, signal });
      if (kind === 'cancelled') await forgetPositions(shard, entry.backfillId);
      return outcomeOf(entry, kind, progress);
    });
  }

  async function fillAll(
    entry: BackfillEntry,
    request: BackfillRequest,
    parts: Parts,
  ): Promise<'done' | 'cancelled'> {
    const { backfillId, chunks } = entry;
    const { progress, signal } = parts;
    const isCancelled = async () => (await stateOf(shard, backfillId)) !== 'running';
    const pace = createPace(request.messagesPerSecond);
    const all = chunks.reduce((sum, chunk) => sum + sizeOf(chunk), 0);
    let done = 0;
    Object.assign(progress, { backfillId, chunks: chunks.length });
    for (const chunk of chunks) {
      if (!chunk.isDone) {
        signal.throwIfAborted();
        if (await isCancelled()) return 'cancelled';
        if (request.source === 'archive') {
          const messages = await fillFromArchive(shard, backfillId, chunk, request, { ...archive, signal });
          progress.messagesRead += messages;
          progress.messagesLanded += messages;
          await pace(messages, signal);
        } else {
          const partOf = (upToMs: UtcMs) =>
            (done + Math.min(chunk.toMs, upToMs) - chunk.fromMs) / Math.max(1, all);
          const filled = await fillFromStream(shard, backfillId, chunk, {
            source: parts.source,
            interpret: interpreter(),
            defaultTable: defaultTable(),
            table: request.source === 'stream' ? request.table : undefined,
            lakeDir,
            messagesMax: request.messagesPerSecond,
            pace,
            signal,
            isCancelled,
            onBatch({ read, landed, upToMs }) {
              progress.messagesRead += read;
              progress.messagesLanded += landed;
              if (upToMs !== undefined) progress.part = Math.max(progress.part, partOf(upToMs));
            },
          });
          if (filled === 'cancelled') return 'cancelled';
          await finishChunk(shard, backfillId, chunk, clock);
        }
      }
      done += sizeOf(chunk);
      progress.chunksDone += 1;
      progress.part = done / Math.max(1, all);
    }
    return (await endBackfill(shard, backfillId, 'done', clock)) ? 'done' : 'cancelled';
  }

  async function outcomeOf(
    { backfillId, isResumed, notes }: BackfillEntry,
    kind: 'done' | 'cancelled',
    { messagesRead }: BackfillProgress,
  ): Promise<BackfillOutcome> {
    const { chunks, listed } = await readBackfill(shard, backfillId);
    const gapsFilled = chunks.flatMap(({ gapId, isDone, isWhole }) =>
      gapId !== undefined && isDone && isWhole ? [gapId] : [],
    );
    const [last] = await shard.transaction((connection) =>
      query<{ batch_id: bigint }>(connection, 'land/last-batch'),
    );
    log.info(
      { shard: shard.workgroupId, backfillId, messages: listed.messagesLanded, kind },
      'backfill.ended',
    );
    return {
      kind,
      backfillId,
      resumed: isResumed,
      messagesRead,
      messagesLanded: listed.messagesLanded,
      gapsFilled,
      notes,
      lastBatchId: Number(last!.batch_id),
    };
  }

  function planOf(request: BackfillRequest, source: RestSource, signal: AbortSignal): Promise<BackfillPlan> {
    const asking = { source, interpret: interpreter(), clock, signal };
    switch (request.source) {
      case 'stream':
        return planStream(shard, request, asking);
      case 'gaps':
        return planGaps(shard, asking);
      case 'archive':
        return planArchive(shard, request, archive);
      default:
        return request satisfies never;
    }
  }

  const defaultTable = () => (workgroup.upstream?.table === '-' ? undefined : workgroup.upstream?.table);
  // Of its own: the columns of another's are reused while this one waits.
  const interpreter = () => createInterpreter(shard.names, { defaultTable: defaultTable() });

  return {
    start(request, upstream) {
      if (!run || run.result) run = begin(request, upstream);
      else if (JSON.stringify(run.request) !== JSON.stringify(request)) {
        throw new TransientError(
          'BackfillRunning',
          `backfill ${run.progress.backfillId ?? ''} is under way; wait until it is done, or cancel it`,
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
        ...(await takenIn(shard, workgroup.energyStreams.length)),
      };
    },
    async stop() {
      run?.controller.abort();
      await run?.ended;
    },
    plan: (request, upstream) =>
      withSource(upstream, (source) => planOf(request, source, new AbortController().signal)),
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
          ? `there is no backfill ${backfillId}; "wattline backfill list" shows those there are`
          : `backfill ${backfillId} has ended already (${state})`,
      );
    },
    gaps: (upstream) =>
      withSource(upstream, (source) =>
        openGaps(shard, (fromMs) =>
          askAvailability(source, interpreter(), fromMs, new AbortController().signal).catch(
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
  if (!upstream) throw new TransientError('NoUpstream', 'whoever has the warehouse open reads no stream');
  const source = createRestSource({ ...upstream, connectionsMax: 1 });
  try {
    return await work(source);
  } finally {
    await source.close();
  }
}

/** How much of the whole a piece is: messages where they were counted beforehand, else time. */
function sizeOf({ fromMs, toMs, messagesExpected }: Chunk): number {
  return messagesExpected ?? toMs - fromMs;
}

function targetOf(request: BackfillRequest): string {
  if (request.source === 'gaps') return 'gaps';
  const to = request.toMs === undefined ? '' : formatInstant(request.toMs);
  return `${request.source} ${formatInstant(request.fromMs)}/${to}`;
}

function nothingYet(): BackfillProgress {
  return {
    backfillId: undefined,
    chunks: 0,
    chunksDone: 0,
    messagesRead: 0,
    messagesLanded: 0,
    part: 0,
  };
}

function stopped(): TransientError {
  return new TransientError(
    'BackfillStopped',
    'the backfill was stopped; run the same command again to go on',
  );
}
