import PQueue from 'p-queue';
import { TerminalError, TransientError } from '../lib/errors.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { askable, isAskable } from '../pipeline/remote-operations.ts';

/**
 * Runs an operation for another process.
 * @param readArgs reads the arguments. Called only when it is the turn of the operation
 * @param asker aborts if the caller has disconnected. An operation that waits is not run then
 * @throws TerminalError for an unknown operation or wrong arguments; TransientError Busy; the error of the
 *   operation
 */
type RunAskable = (
  workgroupId: string,
  operation: string,
  readArgs: () => Promise<unknown>,
  asker: AbortSignal,
) => Promise<unknown>;

const UNDER_WAY_MAX = 16;
/**
 * The pages of many browsers ask at the same time, and each of their requests waits while a workgroup is
 * being opened.
 */
const WAITING_MAX = 128;
/** A caller waits a minute, so more cannot be answered in time. */
const EXPLAINS_WAITING_MAX = 2;

export function createAskableRunner(pipeline: Pick<Pipeline, 'run'>): RunAskable {
  // One queue for all workgroups, because explaining needs the processors and the memory of landing.
  const explains = new PQueue({ concurrency: 1 });
  const turns = new PQueue({ concurrency: UNDER_WAY_MAX });

  return async (workgroupId, operation, readArgs, asker) => {
    if (!isAskable(operation)) {
      throw new TerminalError(
        'UnknownOperation',
        'the process that has the warehouse open does not have this operation; it may have another version',
      );
    }
    if (turns.size >= WAITING_MAX) throw busyError();
    return await turns.add(async () => {
      asker.throwIfAborted();
      const args = askable[operation].safeParse(await readArgs());
      if (!args.success) {
        const problems = args.error.issues
          .map(({ path, message }) => `${path.join('.')}: ${message}`)
          .join('; ');
        throw new TerminalError('InvalidArguments', `the arguments of ${operation} are wrong: ${problems}`);
      }
      asker.throwIfAborted();
      const work = () => pipeline.run(workgroupId, operation, args.data);
      if (operation !== 'explain') return await work();
      if (explains.size >= EXPLAINS_WAITING_MAX) throw busyError();
      // A waiting request is dropped if its caller has disconnected.
      return await explains.add(work, { signal: asker });
    });
  };
}

function busyError(): TransientError {
  return new TransientError('Busy', 'the process that has the warehouse open is busy; try again');
}
