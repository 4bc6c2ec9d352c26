import { InputError, TerminalError, TransientError } from '../lib/errors.ts';
import { Breach } from './breach.ts';
import type { Probe } from './probe.ts';
import { type Answer, describeAnswer } from './server-answer.ts';

/**
 * Checks that there is a stream to read. Without it all rules would fail for the same reason.
 * @throws TransientError if nothing answers, InputError if the token or the names are wrong, TerminalError if
 *   the answer is not from a stream
 */
export async function preflight(probe: Probe): Promise<void> {
  const answer = await firstAnswer(probe);
  const seen = describeAnswer(answer);
  const { target, table } = probe;
  switch (answer.status) {
    case 401:
      throw wrong('--token', `the server refuses it: ${seen}`);
    case 403:
      throw table === '-' && target.table === undefined
        ? wrong(
            '--table',
            `the token may not read all tables; name one, or send messages with --write: ${seen}`,
          )
        : wrong(
            '--token',
            `it may not read the table "${table}" of workgroup "${target.workgroup}": ${seen}`,
          );
    case 404:
      throw new TerminalError('NoStream', `there is no stream below ${target.url}: ${seen}`);
    case 429:
    case 503:
      throw new TransientError('NotReady', `${target.url} is not ready: ${seen}`);
    default:
  }
  if (target.write && target.token === target.restrictedToken)
    throw wrong('--restricted-token', 'it is the same as the token');
}

async function firstAnswer(probe: Probe): Promise<Answer> {
  try {
    return await probe.read('limit=1');
  } catch (error) {
    if (!(error instanceof Breach)) throw error;
    throw new TransientError('NotReachable', error.message, {
      cause: error,
    });
  }
}

function wrong(path: string, message: string): InputError {
  return new InputError('the command line', [{ path, message }]);
}
