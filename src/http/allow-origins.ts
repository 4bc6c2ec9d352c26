import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** Headers of answers that scripts of other origins can read. */
const exposed = [
  ...['Content-Disposition', 'ETag', 'Retry-After', 'Wattline-Flags', 'Wattline-Next', 'X-Request-Id'],
  ...['Stream-Next-Offset', 'Stream-Up-To-Date', 'Stream-Lag-Messages', 'Preference-Applied'],
];
const PREFLIGHT_SECONDS = 600;

/**
 * Lets scripts of these origins call the API. Without origins, browsers refuse calls from other origins.
 * Cookies are never used.
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders: exposed,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  });
  // Routes set this header after the library has.
  app.addHook('onSend', async (_request, reply) => {
    const vary = String(reply.getHeader('vary') ?? '');
    if (!/\borigin\b/i.test(vary)) reply.header('Vary', vary === '' ? 'Origin' : `${vary}, Origin`);
  });
}
