import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Access } from '../access/access.ts';
import type { Grant } from '../access/grant.ts';
import { RefusedToken } from '../access/refused-token.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { withdrawAnswer } from './withdraw-answer.ts';

/** A transfer ends within this time after its token was revoked or has expired. */
const LOOK_EVERY_MS = SECOND_MS;

/**
 * Checks the tokens of requests again. If a token is not valid any more, its request is refused after its
 * body. Its answer is refused before the first byte, even if the request did something. A body or an answer
 * in transfer is cut off.
 */
export function watchTokens(app: FastifyInstance, { recheck }: Pick<Access, 'recheck'>): void {
  /** Requests that are not answered completely, by their tokens. */
  const open = new Map<Grant, Set<ServerResponse>>();
  app.addHook('onRequest', async ({ authentication }, { raw }) => {
    if (authentication?.kind !== 'granted') return;
    const { grant } = authentication;
    const answers = open.get(grant) ?? new Set();
    open.set(grant, answers.add(raw));
    raw.once('close', () => {
      answers.delete(raw);
      if (answers.size === 0 && open.get(grant) === answers) open.delete(grant);
    });
  });
  app.addHook('preValidation', async ({ authentication, method }) => {
    if (authentication?.kind === 'granted' && !isRead(method)) recheck(authentication.grant);
  });
  app.addHook('onSend', async ({ authentication, method }, reply, payload) => {
    if (authentication?.kind !== 'granted' || reply.statusCode >= 400) return;
    try {
      recheck(authentication.grant);
    } catch (error) {
      withdrawAnswer(reply, payload);
      throw isRead(method) || !(error instanceof RefusedToken) ? error : perhapsDone();
    }
  });

  const timer = setInterval(() => {
    for (const [grant, answers] of open)
      if (isRefused(grant))
        for (const { req, headersSent } of answers) if (headersSent || !req.complete) cutOff(req.socket);
  }, LOOK_EVERY_MS);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));

  function isRefused(grant: Grant): boolean {
    try {
      recheck(grant);
      return false;
    } catch (error) {
      return error instanceof RefusedToken;
    }
  }
}

/**
 * Also throws away bytes that the system has not sent yet. A request of this process itself has no
 * connection. Its answer goes to another connection, which is watched.
 */
function cutOff(socket: unknown): void {
  if (socket instanceof Socket) socket.resetAndDestroy();
}

/** The refusal of the answer to a request that did something. */
function perhapsDone(): StreamError {
  return new StreamError(
    'InvalidToken',
    'the token is not valid any more; the request may already have been carried out',
  );
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
