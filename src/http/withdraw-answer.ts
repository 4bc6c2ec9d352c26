import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/**
 * Removes the headers and the stream of an answer, so that an error can be sent instead. Call it in `onSend`,
 * before the error is thrown.
 */
export function withdrawAnswer(reply: FastifyReply, payload: unknown): void {
  for (const header of ['Content-Disposition', 'ETag']) reply.removeHeader(header);
  if (payload instanceof Readable) payload.destroy();
}
