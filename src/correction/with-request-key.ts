import { randomUUID } from 'node:crypto';
import type { CorrectionRequest } from './correction-request.ts';

/**
 * Adds a key to a request without one. So it is stored once, even if it is sent to a second worker after the
 * first one was replaced.
 */
export function withRequestKey<Args extends { request: CorrectionRequest }>(args: Args): Args {
  return { ...args, request: { ...args.request, key: args.request.key ?? randomUUID() } };
}
