import type { Interpreter } from '../client/interpret.ts';
import type { RestSource } from '../client/rest-source.ts';
import { TransientError } from '../lib/errors.ts';
import { type Clock, DAY_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import { type Availability, askAvailability } from './availability.ts';
import type { BackfillPlan, BackfillRequest } from './backfill-request.ts';
import { missingText } from './from-stream.ts';

interface PlanOptions {
  source: RestSource;
  interpret: Interpreter;
  clock: Clock;
  signal: AbortSignal;
}

/** An open gap, and what the upstream still has of it. */
export interface OpenGap {
  gapId: number;
  reason: string;
  fromMs: UtcMs | undefined;
  toMs: UtcMs | undefined;
  detectedAtMs: UtcMs;
  note: string | undefined;
  /** all, part or nothing of it. unknown if the upstream does not report it. */
  available: Availability['kind'];
}

/** The length of a piece. It is longer if the period would have more than `PIECES_MAX` pieces. */
const PIECE_MS = 10 * MINUTE_MS;
const PIECES_MAX = 500;
/** Counting the messages takes a request for each piece. With more pieces only the whole is counted. */
const PIECES_COUNTED_MAX = 50;
/** The number of requests is estimated with this many messages for each. */
const MESSAGES_PER_REQUEST = 2_500;
/** The days of a longer plan are not listed. */
const DAYS_LISTED_MAX = 10_000;

type StreamRequest = Extract<BackfillRequest, { source: 'stream' }>;

/** Plans reading a period of the stream again. */
export async function planStream(
  shard: Shard,
  request: StreamRequest,
  options: PlanOptions,
): Promise<BackfillPlan> {
  const { source, interpret, signal } = options;
  await requireLiveReader(shard);
  // The live reader reads messages after its position.
  const endMs = Math.min(request.toMs ?? Number.POSITIVE_INFINITY, options.clock.now() + 1);
  const from = await askAvailability(source, interpret, request.fromMs, signal);
  const startMs = from.kind === 'all' ? request.fromMs : (from.firstMs ?? endMs);
  const notes = from.kind === 'all' ? [] : [missingText(from)];
  if (request.fromMs >= endMs) {
    notes.push('the period is in the future: the live reader will read it');
  }
  const pieces: BackfillPlan['pieces'] = [];
  const widthMs = Math.max(PIECE_MS, Math.ceil((endMs - startMs) / PIECES_MAX));
  for (let fromMs = startMs; fromMs < endMs; fromMs += widthMs) {
    const toMs = Math.min(endMs, fromMs + widthMs);
    pieces.push({ fromMs, toMs, gapId: undefined, messagesExpected: undefined });
  }
  let messages: number | undefined = pieces.length === 0 ? 0 : undefined;
  if (from.messages !== undefined && pieces.length > 0) {
    const messagesFrom = async (ms: UtcMs) =>
      (await askAvailability(source, interpret, ms, signal)).messages ?? 0;
    const afterAll = await messagesFrom(endMs);
    messages = Math.max(0, from.messages - afterAll);
    await countPieces(pieces, { first: from.messages, afterAll, messagesFrom });
  }
  const requests =
    pieces.length === 0 ? 0 : Math.max(pieces.length, Math.ceil((messages ?? 0) / MESSAGES_PER_REQUEST));
  return { source: 'stream', pieces, requests, days: daysOfPieces(pieces), messages, notes, unfillable: [] };
}

/** Asks the server for the number of messages of each piece, unless there are many pieces. */
async function countPieces(
  pieces: BackfillPlan['pieces'],
  counts: { first: number; afterAll: number; messagesFrom(ms: UtcMs): Promise<number> },
): Promise<void> {
  if (pieces.length > PIECES_COUNTED_MAX) return;
  let before = counts.first;
  for (const [index, piece] of pieces.entries()) {
    const after = index === pieces.length - 1 ? counts.afterAll : await counts.messagesFrom(piece.toMs);
    piece.messagesExpected = Math.max(0, before - after);
    before = after;
  }
}

/** Plans filling all gaps that the upstream still has messages of. */
export async function planGaps(shard: Shard, options: PlanOptions): Promise<BackfillPlan> {
  await requireLiveReader(shard);
  const { source, interpret, signal } = options;
  const gaps = await openGaps(shard, (fromMs) => askAvailability(source, interpret, fromMs, signal));
  const plan: BackfillPlan = {
    source: 'gaps',
    pieces: [],
    requests: 0,
    days: [],
    messages: undefined,
    notes: [],
    unfillable: [],
  };
  for (const gap of gaps) {
    if (gap.available === 'nothing') {
      plan.unfillable.push({ gapId: gap.gapId, note: gap.note! });
      plan.notes.push(`gap ${gap.gapId}: ${gap.note}`);
    } else {
      const { fromMs, toMs } = boundsOf(gap);
      plan.pieces.push({ fromMs, toMs, gapId: gap.gapId, messagesExpected: undefined });
      if (gap.note !== undefined) plan.notes.push(`gap ${gap.gapId}: ${gap.note}`);
    }
  }
  plan.requests = plan.pieces.length;
  plan.days = daysOfPieces(plan.pieces);
  return plan;
}

/** A row of `find_gaps`. */
type GapRow = {
  gap_id: number;
  reason: string;
  from_time_ms: number | null;
  to_time_ms: number | null;
  detected_at_ms: number;
  note: string | null;
};

/** The open gaps, each with what the upstream still has of it, or with the error of the request. */
export async function openGaps(
  shard: Shard,
  ask: (fromMs: UtcMs) => Promise<Availability | TransientError>,
): Promise<OpenGap[]> {
  const rows = await shard.read((connection) => query<GapRow>(connection, 'backfill/find_gaps'));
  const gaps: OpenGap[] = [];
  for (const row of rows) {
    const gap = {
      gapId: row.gap_id,
      reason: row.reason,
      fromMs: row.from_time_ms ?? undefined,
      toMs: row.to_time_ms ?? undefined,
      detectedAtMs: row.detected_at_ms,
    };
    gaps.push({ ...gap, ...availableOf(gap, await ask(boundsOf(gap).fromMs)) });
  }
  return gaps;
}

/** What an upstream still has of a gap, by its answer to a read that begins where the gap begins. */
export function availableOf(
  gap: GapBounds,
  answer: Availability | TransientError,
): Pick<OpenGap, 'available' | 'note'> {
  if (answer instanceof Error) return { available: 'unknown', note: answer.message };
  const { kind, firstMs } = answer;
  if (kind === 'all') return { available: kind, note: undefined };
  const isGone = firstMs === undefined || firstMs >= boundsOf(gap).toMs - 1;
  const available = isGone ? 'nothing' : kind;
  return { available, note: missingText({ ...answer, kind: available }) };
}

type GapBounds = Pick<OpenGap, 'fromMs' | 'toMs' | 'detectedAtMs'>;

/**
 * From the last message before the gap to the first one after it, both included. They prove that nothing is
 * missing in between.
 */
function boundsOf({ fromMs, toMs, detectedAtMs }: GapBounds) {
  return { fromMs: fromMs ?? 0, toMs: (toMs ?? detectedAtMs) + 1 };
}

/** @throws TransientError if the live reader has not read anything yet, because it will read everything */
async function requireLiveReader(shard: Shard): Promise<void> {
  if (await shard.checkpoint('stream')) return;
  throw new TransientError(
    'NothingRead',
    'the stream has not been read yet: start the worker ("wattline up"), which reads everything that the upstream still has',
  );
}

/** The days in UTC of the pieces. */
export function daysOfPieces(pieces: BackfillPlan['pieces']): string[] {
  const days = new Set<string>();
  for (const { fromMs, toMs } of pieces) {
    for (
      let ms = Math.floor(fromMs / DAY_MS) * DAY_MS;
      ms < toMs && days.size < DAYS_LISTED_MAX;
      ms += DAY_MS
    )
      days.add(new Date(ms).toISOString().slice(0, 10));
  }
  return [...days].sort();
}
