import { z } from 'zod';

/** Says that a warehouse was closed with nothing to do. */
export const idleNoteSchema = z.object({
  /** The end of the stream, which the warehouse has completely. */
  logEpoch: z.string(),
  nextOffset: z.string(),
  /** A hash of the settings with which everything was computed. */
  settings: z.string(),
  /** When the last roll-up before the close began. What time alone changes since then is not computed. */
  closedAtMs: z.number(),
});

export type IdleNote = z.output<typeof idleNoteSchema>;
