import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { etagOf, matchesEtag } from './etag.ts';

/** Sends an answer with an entity tag, or 304 if the caller has it already. */
export function sendTagged<Answer>(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
): Answer | FastifyReply {
  const etag = etagOf(answer);
  reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
  return matchesEtag(request.headers['if-none-match'], etag) ? reply.code(304).send() : answer;
}

/** The answers of a route with an entity tag. */
export function tagged<Answer extends z.ZodType, Errors extends Record<number, z.ZodType>>(
  answer: Answer,
  errors: Errors,
) {
  const unchanged = z.null().meta({ description: 'Nothing has changed since the answer with this ETag' });
  return { 200: answer, 304: unchanged, ...errors };
}
