import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/**
 * Prepares a reply for an error in place of its answer. To be called in `onSend`, before the error is thrown.
 */
export function withdrawAnswer(reply: FastifyReply, payload: unknown): void {
  for (const header of ['Content-Length', 'Content-Disposition', 'ETag']) reply.removeHeader(header);
  if (payload instanceof Readable) payload.destroy();
}
