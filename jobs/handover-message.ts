import { z } from 'zod';

/** What workers tell each other before a workgroup changes its owner. A message can be lost. */
const handoverMessageSchema = z.discriminatedUnion('kind', [
  /**
   * To all: a worker will release a workgroup. `shareMax`: a worker with fewer open shards is asked to be the
   * successor.
   */
  z.object({
    kind: z.literal('leaving'),
    workgroupId: z.string(),
    workerId: z.string(),
    shareMax: z.number(),
  }),
  /**
   * To the owner: this worker is the successor, and it is fetching the warehouse. Repeated until it is
   * prepared.
   */
  z.object({ kind: z.literal('preparing'), workgroupId: z.string() }),
  /** To the owner: the successor waits for the release. */
  z.object({ kind: z.literal('prepared'), workgroupId: z.string() }),
  /** To the successor: it has the lease now. */
  z.object({ kind: z.literal('handed-over'), workgroupId: z.string() }),
]);

export type HandoverMessage = z.output<typeof handoverMessageSchema>;

/** @returns undefined for any other message, such as one of another version of the program */
export function parseHandoverMessage(message: unknown): HandoverMessage | undefined {
  return handoverMessageSchema.safeParse(message).data;
}
