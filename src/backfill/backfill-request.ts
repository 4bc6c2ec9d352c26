import { z } from 'zod';
import { tableNameSchema } from '../contract/messages.ts';
import type { UtcMs } from '../lib/time.ts';

/** Messages a second beside the live reader: some percent of what a warehouse lands. */
export const RATE_DEFAULT = 10_000;

const instant = z.int().nonnegative();

/** What is to be read again. The same request goes on with a backfill that has not ended. */
export const backfillRequestSchema = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.literal('stream'),
    /** Store times, half-open. Without an end: up to where the live reader stands. */
    fromMs: instant,
    toMs: instant.optional(),
    table: tableNameSchema.optional(),
    messagesPerSecond: z.int().positive(),
  }),
  /** The stretches of the stream that the live reader could not read. */
  z.strictObject({ source: z.literal('gaps'), messagesPerSecond: z.int().positive() }),
  z.strictObject({
    source: z.literal('archive'),
    /** Event times, half-open. Without an end: all that the lake has and the warehouse has not. */
    fromMs: instant,
    toMs: instant.optional(),
    table: tableNameSchema.optional(),
    messagesPerSecond: z.int().positive(),
  }),
]);
export type BackfillRequest = z.infer<typeof backfillRequestSchema>;
export type ArchiveRequest = Extract<BackfillRequest, { source: 'archive' }>;

/** Where the stream of a workgroup is read. Plain values, so that it can be handed to another thread. */
export interface UpstreamAddress {
  url: string;
  workgroup: string;
  table: string;
  token?: string;
}

/** A piece of a backfill as the ledger has it. */
export interface Chunk {
  chunkNo: number;
  gapId: number | undefined;
  /** Store times of the stream, event times of the archive; half-open. */
  fromMs: UtcMs;
  toMs: UtcMs;
  messagesExpected: number | undefined;
  messagesLanded: number;
  isDone: boolean;
  isWhole: boolean;
}

/** What a backfill comes to, before it is begun. */
export interface BackfillPlan {
  source: BackfillRequest['source'];
  chunks: Array<Pick<Chunk, 'fromMs' | 'toMs' | 'gapId' | 'messagesExpected'>>;
  /** Requests to the upstream at least; 0 of the archive. */
  requests: number;
  /** Days (UTC) that it touches. */
  days: string[];
  /** Of the archive: messages that could not be decoded when they came, and how many of them can be now. */
  quarantined?: { kept: number; readable: number };
  /** Messages there are to read, as far as that can be known. */
  messages: number | undefined;
  /** What cannot be had, and why. */
  notes: string[];
  /** Gaps that cannot be filled, with the reason. */
  unfillable: Array<{ gapId: number; note: string }>;
}
