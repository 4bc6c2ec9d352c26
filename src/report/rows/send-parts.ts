import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, matchesEtag } from '../../http/etag.ts';
import type { ReportText } from '../day-report.ts';
import type { LakeReader } from '../lake/lake-reader.ts';
import { contentTypes, formatOf } from './row-format.ts';
import { type RowAnswer, sendRows } from './send-rows.ts';

interface PartsAnswer {
  /** The entity tag of the answer in JSON. */
  etag: string;
  /** Makes the JSON text; its signal fires when all callers have gone. */
  read: (signal: AbortSignal) => Promise<Uint8Array[] | ReportText>;
  /** The same as rows. */
  rows: RowAnswer;
  /** Called with the size and the time when the answer is complete. */
  onAnswered: (fields: { bytes: number; durationMs: number }) => void;
}

/**
 * Answers with JSON text in parts, with rows if the caller prefers them, or with 304 if nothing has changed.
 * The header `Wattline-Flags` counts flags that the text does not show. If the caller disconnects, its query
 * is stopped. Concurrent requests for the same address and entity tag share one text, because it depends only
 * on these two.
 */
export async function sendParts(
  request: FastifyRequest,
  reply: FastifyReply,
  lake: LakeReader,
  { etag, read, rows, onAnswered }: PartsAnswer,
): Promise<FastifyReply> {
  const startedMs = performance.now();
  const format = formatOf(request);
  const tag = format === 'json' ? etag : etagOf([etag, format, rows.facts ?? null]);
  reply
    .header('ETag', tag)
    .header('Cache-Control', 'private, no-cache')
    .header('Vary', 'Authorization, Accept');
  if (matchesEtag(request.headers['if-none-match'], tag)) return reply.code(304).send();

  const disconnected = new AbortController();
  reply.raw.once('close', () => disconnected.abort());
  const durationMs = () => Math.round(performance.now() - startedMs);
  let answer: Uint8Array[] | ReportText | undefined;
  try {
    if (format === 'json')
      answer = await lake.share(`${request.url.split('?')[0]} ${etag}`, read, disconnected.signal);
    else {
      const sent = await sendRows(reply, lake, rows, format, disconnected.signal);
      onAnswered({ ...sent, durationMs: durationMs() });
    }
  } catch (error) {
    // The query was stopped because all callers have gone.
    if (disconnected.signal.aborted) return reply.send();
    reply.removeHeader('ETag');
    throw error;
  }
  if (answer === undefined) return reply;
  const { parts, flags } = 'parts' in answer ? answer : { parts: answer, flags: {} };
  const counted = Object.entries(flags).map(([flag, count]) => `${flag}=${count}`);
  if (counted.length > 0) reply.header('Wattline-Flags', counted.join(', '));
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  onAnswered({ bytes, durationMs: durationMs() });
  return reply
    .type(contentTypes.json)
    .header('Content-Length', String(bytes))
    .send(Readable.from(parts, { objectMode: false }));
}

/** An answer as JSON text. */
export function jsonParts(answer: unknown): Uint8Array[] {
  return [Buffer.from(JSON.stringify(answer))];
}
