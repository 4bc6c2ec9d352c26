import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { answerOfOwner, OWNER_RETRY_SECONDS } from '../http/answer-of-owner.ts';
import { InputError, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import type { Operations } from '../pipeline/operations.ts';
import type { AskableName } from '../pipeline/remote-operations.ts';
import type { Control } from '../worker-rpc/control.ts';
import type { AsJson } from '../worker-rpc/rpc-wire.ts';

const BUSY_SECONDS = 2;

/** Calls an operation in the process that has the warehouse of a workgroup open. */
export type AskOwner = <Name extends AskableName>(
  workgroupId: string,
  operation: Name,
  args: Operations[Name]['args'],
) => Promise<AsJson<Operations[Name]['result']>>;

/**
 * The errors have statuses of HTTP: 400 for a wrong request, 404 for an unknown thing, 503 if no process can
 * answer now. Their texts are the worker's own, without its hints for the command line.
 */
export function createAskOwner(control: Pick<Control, 'ask'>): AskOwner {
  return async (workgroupId, operation, args) => {
    const result = await control.ask(workgroupId, operation, args);
    return answerOfOwner(result, workgroupId, refusalOf);
  };
}

/**
 * Problems that the caller can solve, or that end by themselves. Their texts name no processes and no files.
 */
const plainMessages: Readonly<Record<string, string>> = {
  BackfillRunning: 'another backfill is running; wait until it has ended, or cancel it',
  NothingRead: 'the stream has not been read yet, so there is nothing to read again',
  Busy: 'the worker is busy; ask again in a moment',
  NoAnswer: 'the worker has not answered in time; ask again in a moment',
};

function refusalOf(error: Error): Error {
  if (error instanceof StreamError) return error;
  if (error instanceof InputError) {
    const [problem] = error.problems;
    return new StreamError('InvalidRequest', `${problem!.path}: ${problem!.message}`, {
      parameter: problem!.path,
    });
  }
  const code = error instanceof TransientError || error instanceof TerminalError ? error.code : undefined;
  if (code === 'NotRunning') return new StreamError('NotFound', error.message.replace(/; see "[^"]*"$/, ''));
  const message = code === undefined ? undefined : plainMessages[code];
  if (message !== undefined) return unavailable(message, BUSY_SECONDS, error);
  if (!isRetryable(error)) return error;
  // A failure of the upstream has words for people.
  if (code?.startsWith('Upstream')) return unavailable(error.message, OWNER_RETRY_SECONDS, error);
  return unavailable('the worker cannot do this now; ask again in a moment', OWNER_RETRY_SECONDS, error);
}
