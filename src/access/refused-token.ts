import { StreamError } from '../contract/stream-errors.ts';
import type { Grant } from './grant.ts';

/**
 * A token that does not hold. Its caller hears one text for a bad signature, a revoked token and nonsense, so that trying tokens
 * tells nothing; the audit log hears why, and of a token that was once good, which.
 */
export class RefusedToken extends StreamError {
  readonly reason: 'invalid' | 'expired' | 'revoked';
  readonly grant: Grant | undefined;

  constructor(reason: RefusedToken['reason'], grant?: Grant) {
    super('InvalidToken', reason === 'expired' ? 'the token has expired' : 'the token is not valid');
    this.reason = reason;
    this.grant = grant;
  }
}
