import { TerminalError, TransientError } from '../lib/errors.ts';

/** @throws TransientError if the same request can succeed later, else TerminalError */
export function requireTaken(url: string, status: number): void {
  if (status >= 200 && status < 300) return;
  const { host } = new URL(url);
  const text = `${host} refuses the message with HTTP ${status}`;
  if (status >= 500 || LATER.has(status)) throw new TransientError('AlertRefused', text);
  const advice =
    status >= 300 && status < 400
      ? 'redirects are not followed: configure the final address'
      : 'check the address and the secrets of the channel';
  throw new TerminalError('AlertRefused', `${text}; ${advice}`);
}

/** Statuses for a request that is too slow or too early, and for too many requests. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);
