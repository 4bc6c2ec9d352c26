import type { DuckDBConnection } from '@duckdb/node-api';
import type { Clock, UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import type { BackfillPiece, BackfillPlan, BackfillRequest } from './backfill-request.ts';

/** A running backfill. */
export interface BackfillEntry {
  backfillId: number;
  pieces: BackfillPiece[];
  notes: string[];
  isResumed: boolean;
}

export type BackfillState = 'running' | 'done' | 'cancelled';

/** A backfill in the list. */
export interface ListedBackfill {
  backfillId: number;
  source: string;
  fromMs: UtcMs | undefined;
  toMs: UtcMs | undefined;
  table: string | undefined;
  state: BackfillState;
  note: string | undefined;
  startedAtMs: UtcMs;
  updatedAtMs: UtcMs;
  pieces: number;
  piecesDone: number;
  messagesExpected: number | undefined;
  messagesLanded: number;
  gaps: number;
}

/** Finds an unfinished backfill with this request. */
export async function findUnfinished(
  shard: Shard,
  request: BackfillRequest,
): Promise<BackfillEntry | undefined> {
  return shard.read(async (connection) => {
    const [row] = await query<{ backfill_id: bigint; note: string | null }>(
      connection,
      'backfill/find_unfinished',
      { request: requestKey(request) },
    );
    if (!row) return undefined;
    const backfillId = Number(row.backfill_id);
    const notes = row.note?.split('\n') ?? [];
    return { backfillId, pieces: await readPieces(connection, backfillId), notes, isResumed: true };
  });
}

/** Enters a backfill with all its pieces, and with the gaps that cannot be filled. */
export async function beginBackfill(
  shard: Shard,
  request: BackfillRequest,
  plan: BackfillPlan,
  clock: Clock,
): Promise<BackfillEntry> {
  return shard.transaction(async (connection) => {
    const [next] = await query<{ backfill_id: bigint }>(connection, 'backfill/find_next_backfill_id');
    const backfillId = Number(next!.backfill_id);
    const nowMs = clock.now();
    await query(connection, 'backfill/begin_backfill', {
      backfill_id: backfillId,
      source: request.source,
      request: requestKey(request),
      from_ms: 'fromMs' in request ? request.fromMs : null,
      to_ms: 'toMs' in request ? (request.toMs ?? null) : null,
      table_name: 'table' in request ? (request.table ?? null) : null,
      note: plan.notes.length > 0 ? plan.notes.join('\n') : null,
      now_ms: nowMs,
    });
    for (const [pieceNo, piece] of plan.pieces.entries()) {
      await query(connection, 'backfill/add_piece', {
        backfill_id: backfillId,
        chunk_no: pieceNo,
        gap_id: piece.gapId ?? null,
        from_ms: piece.fromMs,
        to_ms: piece.toMs,
        messages_expected: piece.messagesExpected ?? null,
        now_ms: nowMs,
      });
    }
    for (const { gapId, note } of plan.unfillable) await noteGap(connection, gapId, note);
    const pieces = await readPieces(connection, backfillId);
    return { backfillId, pieces, notes: plan.notes, isResumed: false };
  });
}

/** The identity of a request. The speed is not part of it. */
function requestKey({ messagesPerSecond: _, ...words }: BackfillRequest): string {
  return JSON.stringify(words, Object.keys(words).sort());
}

async function readPieces(connection: DuckDBConnection, backfillId: number): Promise<BackfillPiece[]> {
  const rows = await query<{
    chunk_no: number;
    gap_id: number | null;
    from_ms: number;
    to_ms: number;
    messages_expected: number | null;
    messages_landed: number;
    state: string;
    is_whole: boolean;
  }>(connection, 'backfill/find_pieces', { backfill_id: backfillId });
  return rows.map((row) => ({
    pieceNo: row.chunk_no,
    gapId: row.gap_id ?? undefined,
    fromMs: row.from_ms,
    toMs: row.to_ms,
    messagesExpected: row.messages_expected ?? undefined,
    messagesLanded: row.messages_landed,
    isDone: row.state === 'done',
    isWhole: row.is_whole,
  }));
}

/** The current state in the ledger. It is read before each piece. */
export async function stateOf(shard: Shard, backfillId: number): Promise<BackfillState | undefined> {
  return shard.read(async (connection) => {
    const [row] = await query<{ state: BackfillState }>(connection, 'backfill/find_state', {
      backfill_id: backfillId,
    });
    return row?.state;
  });
}

/** The origin of the messages of a piece of the stream. It has its own checkpoint while the piece is read. */
export function originOf(backfillId: number, { pieceNo }: Pick<BackfillPiece, 'pieceNo'>): string {
  return `backfill:${backfillId}:${pieceNo}`;
}

/** Records that the upstream no longer has all of a piece, and why its gap stays open. */
export async function markNotWhole(
  shard: Shard,
  backfillId: number,
  piece: BackfillPiece,
  note: string,
): Promise<void> {
  await shard.transaction(async (connection) => {
    await query(connection, 'backfill/mark_not_whole', { backfill_id: backfillId, chunk_no: piece.pieceNo });
    if (piece.gapId !== undefined) await noteGap(connection, piece.gapId, note);
  });
  piece.isWhole = false;
}

async function noteGap(connection: DuckDBConnection, gapId: number, note: string): Promise<void> {
  await query(connection, 'backfill/note_gap', { gap_id: gapId, note });
}

/** Finishes a piece of the stream, and closes its gap if it is filled. */
export async function finishPiece(
  shard: Shard,
  backfillId: number,
  piece: BackfillPiece,
  clock: Clock,
): Promise<void> {
  const origin = originOf(backfillId, piece);
  const now_ms = clock.now();
  await shard.transaction(async (connection) => {
    await query(connection, 'backfill/finish_piece', {
      backfill_id: backfillId,
      chunk_no: piece.pieceNo,
      origin,
      now_ms,
    });
    await query(connection, 'backfill/forget_position', { origin });
    await query(connection, 'backfill/touch_backfill', { backfill_id: backfillId, now_ms });
    if (piece.gapId !== undefined && piece.isWhole) {
      const gap_ids = [BigInt(piece.gapId)];
      await query(connection, 'backfill/close_gaps', { backfill_id: backfillId, gap_ids, now_ms });
    }
  });
  piece.isDone = true;
}

/** Ends a backfill. @returns false if it had already ended */
export async function endBackfill(
  shard: Shard,
  backfillId: number,
  state: Exclude<BackfillState, 'running'>,
  clock: Clock,
): Promise<boolean> {
  return shard.transaction(async (connection) => {
    const ended = await query(connection, 'backfill/finish_backfill', {
      backfill_id: backfillId,
      state,
      now_ms: clock.now(),
    });
    return ended.length > 0;
  });
}

/** Deletes the checkpoints of pieces that will not be continued. */
export async function forgetPositions(shard: Shard, backfillId: number): Promise<void> {
  await shard.transaction((connection) =>
    query(connection, 'backfill/forget_positions', { backfill_id: backfillId }),
  );
}

/** The messages that a backfill has landed, and its pieces. */
export async function readBackfill(
  shard: Shard,
  backfillId: number,
): Promise<{ pieces: BackfillPiece[]; listed: ListedBackfill }> {
  return shard.read(async (connection) => ({
    pieces: await readPieces(connection, backfillId),
    listed: (await readList(connection)).find((one) => one.backfillId === backfillId)!,
  }));
}

/** All backfills, newest first. */
export function listBackfills(shard: Shard): Promise<ListedBackfill[]> {
  return shard.read(readList);
}

async function readList(connection: DuckDBConnection): Promise<ListedBackfill[]> {
  const rows = await query<{
    backfill_id: number;
    source: string;
    from_ms: number | null;
    to_ms: number | null;
    table_name: string | null;
    state: BackfillState;
    note: string | null;
    started_at_ms: number;
    updated_at_ms: number;
    pieces: number;
    pieces_done: number;
    messages_expected: number | null;
    messages_landed: number;
    gaps: number;
  }>(connection, 'backfill/list_backfills');
  return rows.map((row) => ({
    backfillId: row.backfill_id,
    source: row.source,
    fromMs: row.from_ms ?? undefined,
    toMs: row.to_ms ?? undefined,
    table: row.table_name ?? undefined,
    state: row.state,
    note: row.note ?? undefined,
    startedAtMs: row.started_at_ms,
    updatedAtMs: row.updated_at_ms,
    pieces: row.pieces,
    piecesDone: row.pieces_done,
    messagesExpected: row.messages_expected ?? undefined,
    messagesLanded: row.messages_landed,
    gaps: row.gaps,
  }));
}
