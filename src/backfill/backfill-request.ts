import { z } from 'zod';
import { tableNameSchema } from '../contract/messages.ts';
import type { UtcMs } from '../lib/time.ts';

/** Messages a second while the live reader runs: a few percent of what a warehouse can land. */
export const RATE_DEFAULT = 10_000;

const instant = z.int().nonnegative();

/** A request to read messages again. The same request continues an unfinished backfill. */
export const backfillRequestSchema = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.literal('stream'),
    /** Store times, half-open. Default end: the position of the live reader. */
    fromMs: instant,
    toMs: instant.optional(),
    table: tableNameSchema.optional(),
    messagesPerSecond: z.int().positive(),
  }),
  /** The gaps that the live reader could not read. */
  z.strictObject({ source: z.literal('gaps'), messagesPerSecond: z.int().positive() }),
  z.strictObject({
    source: z.literal('archive'),
    /** Event times, half-open. Default end: everything that the lake has and the warehouse has not. */
    fromMs: instant,
    toMs: instant.optional(),
    table: tableNameSchema.optional(),
    messagesPerSecond: z.int().positive(),
  }),
  /** Quarantined messages of the stream that can be decoded now. */
  z.strictObject({ source: z.literal('quarantine'), messagesPerSecond: z.int().positive() }),
]);
export type BackfillRequest = z.infer<typeof backfillRequestSchema>;
export type ArchiveRequest = Extract<BackfillRequest, { source: 'archive' }>;

/** Where the stream of a workgroup is read. Plain values, because it is sent to another thread. */
export interface UpstreamAddress {
  url: string;
  workgroup: string;
  table: string;
  token?: string;
}

/** A piece of a backfill in the ledger. */
export interface BackfillPiece {
  pieceNo: number;
  gapId: number | undefined;
  /** Half-open. Store times for the stream, event times for the archive. */
  fromMs: UtcMs;
  toMs: UtcMs;
  messagesExpected: number | undefined;
  messagesLanded: number;
  isDone: boolean;
  isWhole: boolean;
}

/** The plan of a backfill. */
export interface BackfillPlan {
  source: BackfillRequest['source'];
  pieces: Array<Pick<BackfillPiece, 'fromMs' | 'toMs' | 'gapId' | 'messagesExpected'>>;
  /** The minimum number of requests to the upstream. 0 for the archive. */
  requests: number;
  /** The days (UTC) that it reads. */
  days: string[];
  /** For the archive and the quarantine: quarantined messages, and how many of them can be decoded now. */
  quarantined?: { kept: number; readable: number };
  /** The number of messages to read; undefined if it is not known. */
  messages: number | undefined;
  /** Messages that are not available, and why. */
  notes: string[];
  /** Gaps that cannot be filled, with the reason. */
  unfillable: Array<{ gapId: number; note: string }>;
}
