import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../contract/wire-limits.ts';
import { createQuota } from './per-owner-quota.ts';
import { withdrawAnswer } from './withdraw-answer.ts';

declare module 'fastify' {
  interface FastifyInstance {
    bytesUnderWay: BytesUnderWay;
  }
  interface FastifyContextConfig {
    /** The memory that a body needs, if it is not its size. */
    bodyMemoryOf?: (request: FastifyRequest, announcedBytes: number) => number;
  }
}

/** Counts the bytes of bodies that arrive and of answers that are not read yet, for each token. */
interface BytesUnderWay {
  /**
   * Counts bytes until the exchange ends. One answer is always possible, even if it is larger than the limit.
   * @throws StreamError RateLimited if the token would exceed the limit
   */
  hold(tokenId: string, bytes: number, answer: ServerResponse): void;
}

const AGAIN_SECONDS = 1;

/**
 * Counts all bodies and answers of requests with a valid token. Routes that hijack their reply call
 * `app.bytesUnderWay.hold`.
 */
export function limitBytesUnderWay(app: FastifyInstance): void {
  const quota = createQuota(
    limits.bytesUnderWayMax,
    'this token has too many unread answers and unfinished requests: read the answers, and finish the requests',
    AGAIN_SECONDS,
  );
  const hold: BytesUnderWay['hold'] = (tokenId, bytes, answer) => {
    // A destroyed connection emits no further close event.
    if (answer.destroyed) return;
    answer.once('close', quota.take(tokenId, Math.min(bytes, limits.bytesUnderWayMax)));
  };
  app.decorate('bytesUnderWay', { hold });

  app.addHook('preParsing', async (request, reply) => {
    const bytes = announcedBytes(request);
    if (bytes === 0 || request.authentication?.kind !== 'granted') return;
    const { bodyLimit = 0, config } = request.routeOptions;
    const memory = config.bodyMemoryOf?.(request, bytes) ?? bytes;
    hold(request.authentication.grant.tokenId, Math.min(memory, bodyLimit), reply.raw);
  });

  app.addHook('onSend', async ({ authentication, method }, reply, payload) => {
    if (authentication?.kind !== 'granted' || reply.statusCode >= 400 || method === 'HEAD') return;
    const length = reply.getHeader('content-length') ?? lengthOf(payload);
    try {
      hold(authentication.grant.tokenId, Number(length), reply.raw);
    } catch (error) {
      withdrawAnswer(reply, payload);
      throw error;
    }
  });
}

/** The size of a body by its header; the largest one if it is not known. */
function announcedBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

function lengthOf(payload: unknown): number {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
}
