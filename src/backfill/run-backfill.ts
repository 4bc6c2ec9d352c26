import { createInterpreter } from '../client/interpret.ts';
import type { RestSource } from '../client/rest-source.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock, UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import {
  type BackfillEntry,
  beginBackfill,
  endBackfill,
  findUnfinished,
  finishPiece,
  forgetPositions,
  readBackfill,
  stateOf,
} from './backfill-ledger.ts';
import type { BackfillPiece, BackfillPlan, BackfillRequest } from './backfill-request.ts';
import { fillFromArchive, planArchive } from './from-archive.ts';
import { everyMessage, landQuarantined, planQuarantine } from './from-quarantine.ts';
import { fillFromStream } from './from-stream.ts';
import { createPace } from './pace.ts';
import { planGaps, planStream } from './plan-gaps.ts';

export interface BackfillProgress {
  /** Undefined while it is planned. */
  backfillId: number | undefined;
  pieces: number;
  piecesDone: number;
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
  /** New messages in all runs. For the archive: messages that were read again. */
  messagesLanded: number;
  gapsFilled: number[];
  notes: string[];
  /** The newest batch. When it is published, all batches are published. */
  lastBatchId: number;
}

export interface BackfillOptions {
  workgroup: WorkgroupConfig;
  lakeDir: string;
  clock: Clock;
  logger: Logger;
}

/** Where the stream is read, and when to stop. */
interface BackfillRun extends BackfillOptions {
  source: RestSource;
  signal: AbortSignal;
}

/** Plans a request without starting it. */
export function planBackfill(
  shard: Shard,
  request: BackfillRequest,
  run: BackfillRun,
): Promise<BackfillPlan> {
  const { source, clock, signal } = run;
  const asking = { source, interpret: interpreterOf(shard, run), clock, signal };
  switch (request.source) {
    case 'stream':
      return planStream(shard, request, asking);
    case 'gaps':
      return planGaps(shard, asking);
    case 'archive':
      return planArchive(shard, request, archiveOf(run));
    case 'quarantine':
      return planQuarantine(shard, archiveOf(run));
    default:
      return request satisfies never;
  }
}

/**
 * Runs a backfill, or continues an unfinished one with the same request.
 * @param progress is updated
 * @throws TransientError if it cannot continue now; the same request continues it later
 */
export async function runBackfill(
  shard: Shard,
  request: BackfillRequest,
  run: BackfillRun,
  progress: BackfillProgress,
): Promise<BackfillOutcome> {
  const entry =
    (await findUnfinished(shard, request)) ??
    (await beginBackfill(shard, request, await planBackfill(shard, request, run), run.clock));
  const kind = await fillAll(shard, entry, request, run, progress);
  if (kind === 'cancelled') await forgetPositions(shard, entry.backfillId);
  return outcomeOf(shard, entry, kind, progress, run.logger);
}

async function fillAll(
  shard: Shard,
  { backfillId, pieces }: BackfillEntry,
  request: BackfillRequest,
  run: BackfillRun,
  progress: BackfillProgress,
): Promise<'done' | 'cancelled'> {
  const { clock, signal } = run;
  const isCancelled = async () => (await stateOf(shard, backfillId)) !== 'running';
  const pace = createPace(request.messagesPerSecond);
  const all = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
  let done = 0;
  Object.assign(progress, { backfillId, pieces: pieces.length });
  const note = (read: number, landed: number) => {
    progress.messagesRead += read;
    progress.messagesLanded += landed;
  };
  if (request.source === 'archive' || request.source === 'quarantine') {
    if (await isCancelled()) return 'cancelled';
    const archiveRequest = request.source === 'archive' ? request : everyMessage;
    await landQuarantined(shard, backfillId, archiveRequest, { ...archiveOf(run), signal, onLanded: note });
  }
  for (const piece of pieces) {
    if (!piece.isDone) {
      signal.throwIfAborted();
      if (await isCancelled()) return 'cancelled';
      if (request.source === 'archive') {
        const messages = await fillFromArchive(shard, backfillId, piece, request, {
          ...archiveOf(run),
          signal,
        });
        note(messages, messages);
        await pace(messages, signal);
      } else {
        let readOfPiece = 0;
        const partOf = (upToMs: UtcMs) =>
          (done + finishedSize(piece, readOfPiece, upToMs)) / Math.max(1, all);
        const filled = await fillFromStream(shard, backfillId, piece, {
          source: run.source,
          interpret: interpreterOf(shard, run),
          defaultTable: run.workgroup.upstream?.table,
          table: request.source === 'stream' ? request.table : undefined,
          lakeDir: run.lakeDir,
          messagesMax: request.messagesPerSecond,
          pace,
          signal,
          isCancelled,
          onBatch({ read, landed, upToMs }) {
            note(read, landed);
            readOfPiece += read;
            if (upToMs !== undefined) progress.part = Math.max(progress.part, partOf(upToMs));
          },
        });
        if (filled === 'cancelled') return 'cancelled';
        await finishPiece(shard, backfillId, piece, clock);
      }
    }
    done += sizeOf(piece);
    progress.piecesDone += 1;
    progress.part = done / Math.max(1, all);
  }
  return (await endBackfill(shard, backfillId, 'done', clock)) ? 'done' : 'cancelled';
}

async function outcomeOf(
  shard: Shard,
  { backfillId, isResumed, notes }: BackfillEntry,
  kind: 'done' | 'cancelled',
  { messagesRead }: BackfillProgress,
  logger: Logger,
): Promise<BackfillOutcome> {
  const { pieces, listed } = await readBackfill(shard, backfillId);
  const gapsFilled = pieces.flatMap(({ gapId, isDone, isWhole }) =>
    gapId !== undefined && isDone && isWhole ? [gapId] : [],
  );
  const [last] = await shard.read((connection) =>
    query<{ batch_id: bigint }>(connection, 'land/find_last_batch'),
  );
  const { messagesLanded } = listed;
  logger.info({ workgroup: shard.workgroupId, backfillId, messages: messagesLanded, kind }, 'backfill.ended');
  return {
    kind,
    backfillId,
    resumed: isResumed,
    messagesRead,
    messagesLanded,
    gapsFilled,
    notes,
    lastBatchId: Number(last!.batch_id),
  };
}

/** A separate interpreter, because another one reuses its columns while this one waits. */
export function interpreterOf({ names }: Shard, { workgroup }: Pick<BackfillOptions, 'workgroup'>) {
  return createInterpreter(names, { defaultTable: workgroup.upstream?.table });
}

function archiveOf({ workgroup, lakeDir, clock }: BackfillOptions) {
  const { energyStreams } = workgroup;
  return { lakeDir, energyStreams, clock, defaultTable: workgroup.upstream?.table };
}

/** How much of a piece is finished. */
function finishedSize(
  { fromMs, toMs, messagesExpected }: BackfillPiece,
  messagesRead: number,
  upToMs: UtcMs,
): number {
  return messagesExpected === undefined
    ? Math.min(toMs, upToMs) - fromMs
    : Math.min(messagesExpected, messagesRead);
}

/** The size of a piece: its messages if they were counted, else its duration. */
function sizeOf({ fromMs, toMs, messagesExpected }: BackfillPiece): number {
  return messagesExpected ?? toMs - fromMs;
}
