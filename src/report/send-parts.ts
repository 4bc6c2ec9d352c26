import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ReportText } from './day-report.ts';
import { matchesEtag } from './etag.ts';
import type { LakeReader } from './lake-reader.ts';

/**
 * Answers with JSON text in parts, or with 304 if nothing has changed. `Wattline-Flags` counts the flags that are not in the text. If the caller disconnects, its query is stopped.
 * @param share concurrent requests for the same address and entity tag share one text, which depends on nothing else
 * @param read makes the text; its signal fires when all callers have gone
 * @param told is called with the size and the time when the text is complete
 */
export async function sendParts(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    etag,
    share,
    read,
    told,
  }: {
    etag: string;
    share: LakeReader['share'];
    read: (signal: AbortSignal) => Promise<Uint8Array[] | ReportText>;
    told: (fields: { bytes: number; durationMs: number }) => void;
  },
): Promise<FastifyReply> {
  const startedMs = performance.now();
  reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();

  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  let answer: Uint8Array[] | ReportText;
  try {
    answer = await share(`${request.url.split('?')[0]} ${etag}`, read, gone.signal);
  } catch (error) {
    // The query was stopped because all callers have gone.
    if (gone.signal.aborted) return reply.send();
    reply.removeHeader('ETag');
    throw error;
  }
  const { parts, flags } = 'parts' in answer ? answer : { parts: answer, flags: {} };
  const counted = Object.entries(flags).map(([flag, count]) => `${flag}=${count}`);
  if (counted.length > 0) reply.header('Wattline-Flags', counted.join(', '));
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  told({ bytes, durationMs: Math.round(performance.now() - startedMs) });
  return reply
    .type('application/json; charset=utf-8')
    .header('Content-Length', String(bytes))
    .send(Readable.from(parts, { objectMode: false }));
}
