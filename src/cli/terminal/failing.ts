import { TransientError } from '../../lib/errors.ts';
import { describeTrouble, type Trouble } from '../../pipeline/trouble.ts';
import { FAILING_CODE } from './exit-codes.ts';

/** The error of a command that has printed everything, and has found troubles. There is at least one. */
export function failing(troubles: readonly Trouble[]): TransientError {
  const [first] = troubles as [Trouble];
  const more = troubles.length > 1 ? ` (and ${troubles.length - 1} more, above)` : '';
  return new TransientError(FAILING_CODE, `${describeTrouble(first)}${more}`);
}
