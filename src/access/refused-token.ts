import { StreamError } from '../contract/stream-errors.ts';
import type { Grant } from './grant.ts';

/**
 * The error for a token that is not valid. The text is the same for a wrong signature, a revoked token and
 * any other text, so that callers learn nothing by trying tokens. The audit log gets the reason. If the token
 * was valid earlier, it also gets the grant.
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
