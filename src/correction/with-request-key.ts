import { randomUUID } from 'node:crypto';
import type { CorrectionRequest } from './correction-request.ts';

/**
 * Adds a key to a request without one. With the key the correction is stored only once, even if the request
 * goes to a second worker after the first one was replaced.
 */
export function withRequestKey<Args extends { request: CorrectionRequest }>(args: Args): Args {
  return { ...args, request: { ...args.request, key: args.request.key ?? randomUUID() } };
}
