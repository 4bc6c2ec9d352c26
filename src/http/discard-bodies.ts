import type { FastifyInstance } from 'fastify';
import { MEBIBYTE } from '../lib/units.ts';

/** A client that sends its whole body before it reads gets its answer up to this size. */
const DISCARDED_BYTES_MAX = 16 * MEBIBYTE;

/**
 * Limits the rest of a body that arrives after its request was answered, for example with 401. Then the
 * connection is closed.
 */
export function discardBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }) => {
    if (raw.complete) return;
    let bytes = 0;
    // Without this listener Node reads and drops the rest of the body, without a limit.
    raw.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > DISCARDED_BYTES_MAX) raw.socket.destroy();
    });
  });
}
