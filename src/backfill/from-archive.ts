import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyStream } from '../config/energy-stream.ts';
import { limits } from '../contract/wire-limits.ts';
import { InputError } from '../lib/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import type { ArchiveRequest, BackfillPiece, BackfillPlan } from './backfill-request.ts';
import { countQuarantined, type QuarantineOptions } from './from-quarantine.ts';
import { daysOfPieces } from './plan-gaps.ts';
import { lakeFiles } from './skip-landed.ts';

interface ArchiveOptions extends QuarantineOptions {
  energyStreams: readonly EnergyStream[];
}

/** The messages of a period of `BUCKET_MS`. */
type Bucket = { start_ms: number; messages: number };

/** Messages of one transaction. The live reader waits for it. */
const PIECE_MESSAGES = 25_000;
const BUCKET_MS = 5 * MINUTE_MS;
/** Messages that may wait for the roll-up. One call of the roll-up reads as many. */
const WAITING_MAX = 250_000;
const ROOM_PAUSE_MS = 100;
/** Later than any message. */
const END_MS = limits.instantMsMax + 1;

/**
 * Plans reading the lake again: messages that the warehouse no longer has, of tables that energy streams
 * read.
 * @throws InputError if no energy stream reads the table
 */
export async function planArchive(
  shard: Shard,
  request: ArchiveRequest,
  options: ArchiveOptions,
): Promise<BackfillPlan> {
  const tables = tablesOf(request, options.energyStreams);
  const files = await filesFrom(shard, options.lakeDir, request.fromMs);
  const buckets =
    files.length === 0
      ? []
      : await shard.transaction(async (connection) =>
          query<Bucket>(connection, 'backfill/count_archive', {
            files,
            tables,
            kept_batch_id: await keptBatch(connection),
            from_ms: request.fromMs,
            to_ms: request.toMs ?? END_MS,
            bucket_ms: BUCKET_MS,
          }),
        );
  const pieces = piecesOf(buckets, request);
  const all = pieces.reduce((sum, { messagesExpected }) => sum + messagesExpected!, 0);
  const quarantined = await countQuarantined(shard, request, options);
  const notes =
    all === 0 && quarantined.readable === 0
      ? [
          'the lake has no messages of that time that the warehouse does not have; the worker reads the messages of the warehouse by itself',
        ]
      : [];
  const days = daysOfPieces(
    buckets.map(({ start_ms }) => ({
      fromMs: start_ms,
      toMs: start_ms + 1,
      gapId: undefined,
      messagesExpected: undefined,
    })),
  );
  return {
    source: 'archive',
    pieces,
    requests: 0,
    days,
    messages: all + quarantined.readable,
    quarantined,
    notes,
    unfillable: [],
  };
}

/** Joins neighbouring buckets into pieces of at most `PIECE_MESSAGES`. A larger bucket is one piece. */
export function piecesOf(
  buckets: readonly Bucket[],
  request: Pick<ArchiveRequest, 'fromMs' | 'toMs'>,
): BackfillPlan['pieces'] {
  const pieces: BackfillPlan['pieces'] = [];
  for (const { start_ms, messages } of buckets) {
    const last = pieces.at(-1);
    const fromMs = Math.max(start_ms, request.fromMs);
    const toMs = Math.min(start_ms + BUCKET_MS, request.toMs ?? END_MS);
    if (last && last.messagesExpected! + messages <= PIECE_MESSAGES) {
      last.toMs = toMs;
      last.messagesExpected! += messages;
    } else pieces.push({ fromMs, toMs, gapId: undefined, messagesExpected: messages });
  }
  return pieces;
}

/**
 * Copies messages of a period from the lake for the roll-up, which reads what no energy stream has read
 * before. The messages get their own batch and are not published again.
 * @returns the number of messages
 */
export async function fillFromArchive(
  shard: Shard,
  backfillId: number,
  piece: BackfillPiece,
  request: ArchiveRequest,
  { lakeDir, energyStreams, clock, signal }: ArchiveOptions & { signal: AbortSignal },
): Promise<number> {
  await waitForRollUp(shard, signal);
  const tables = tablesOf(request, energyStreams);
  const files = await filesFrom(shard, lakeDir, piece.fromMs);
  const now_ms = clock.now();
  let messages = 0;
  await shard.listBatches(async (connection) => {
    const [last] = await query<{ batch_id: bigint }>(connection, 'land/find_last_batch');
    const batch_id = last!.batch_id + 1n;
    if (files.length > 0) {
      await query(connection, 'backfill/store_archived', {
        files,
        tables,
        kept_batch_id: await keptBatch(connection),
        batch_id,
        from_ms: piece.fromMs,
        to_ms: piece.toMs,
      });
    }
    const [entered] = await query<{ messages: number }>(connection, 'backfill/enter_archived', {
      batch_id,
      origin: `archive:${backfillId}`,
      now_ms,
    });
    messages = entered!.messages;
    await query(connection, 'backfill/finish_archived', {
      backfill_id: backfillId,
      chunk_no: piece.pieceNo,
      messages,
      now_ms,
    });
    await query(connection, 'backfill/touch_backfill', { backfill_id: backfillId, now_ms });
    return Number(batch_id);
  });
  piece.isDone = true;
  return messages;
}

/** Bounds the waiting messages if the roll-up is behind. */
async function waitForRollUp(shard: Shard, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const [row] = await shard.read((connection) =>
      query<{ messages: number }>(connection, 'backfill/count_archived'),
    );
    if (row!.messages < WAITING_MAX) return;
    await sleep(ROOM_PAUSE_MS, undefined, { signal });
  }
}

function tablesOf({ table }: ArchiveRequest, energyStreams: readonly EnergyStream[]): string[] {
  const tables = [...new Set(energyStreams.map((stream) => stream.table))];
  const chosen = tables.filter((one) => table === undefined || one === table);
  if (chosen.length > 0) return chosen;
  const message =
    table === undefined
      ? 'no energy stream is configured'
      : `no energy stream reads table "${table}"; energy streams read ${tables.join(', ') || 'none'}`;
  throw new InputError('the backfill', [{ path: '--table', message }]);
}

/** Late and imported messages may be stored at any time after their event time, and none long before it. */
function filesFrom(shard: Shard, lakeDir: string, fromMs: number): Promise<string[]> {
  return lakeFiles(shard.workgroupId, lakeDir, fromMs - HOUR_MS, Number.POSITIVE_INFINITY);
}

async function keptBatch(connection: DuckDBConnection): Promise<bigint> {
  const [row] = await query<{ batch_id: bigint }>(connection, 'backfill/find_kept_batch');
  return row!.batch_id;
}
