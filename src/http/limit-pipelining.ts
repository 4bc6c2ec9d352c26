import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { StreamError } from '../contract/stream-errors.ts';

/**
 * Requests of one connection that are not answered yet. Node begins all of them at once and keeps their
 * answers in order.
 */
const REQUESTS_AT_ONCE_MAX = 16;

/** Closes a connection if the client sends more requests than this before it gets the answers. */
export function limitPipelining(app: FastifyInstance): void {
  const unanswered = new WeakMap<Socket, number>();
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    reply.raw.once('close', () => unanswered.set(socket, unanswered.get(socket)! - 1));
    if (count > REQUESTS_AT_ONCE_MAX) socket.destroy();
    // Node has parsed the rest of a packet when it learns that the connection is closed.
    done(socket.destroyed ? new StreamError('RateLimited', 'too many requests at once') : undefined);
  });
}
