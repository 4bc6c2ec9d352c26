import { unavailable } from '../contract/stream-errors.ts';

/** The outcome of a request to the process that has the warehouse of a workgroup open. */
export type OwnerOutcome<Answer> =
  | { kind: 'answer'; answer: Answer }
  /** No process has the warehouse open, or none that can be asked. The caller may open it. */
  | { kind: 'not-running' }
  /** The operation failed. The error has the same class as in the other process. */
  | { kind: 'failed'; error: Error };

/** A caller asks again after this time, because somebody has to start a worker, or a failure has to end. */
export const OWNER_RETRY_SECONDS = 10;

/**
 * @throws StreamError StorageUnavailable if no process has it open, and the error of `refusalOf` if the
 *   request failed there
 */
export function answerOfOwner<Answer>(
  outcome: OwnerOutcome<Answer>,
  workgroupId: string,
  refusalOf: (error: Error) => Error,
): Answer {
  switch (outcome.kind) {
    case 'answer':
      return outcome.answer;
    case 'not-running': {
      const state = `no worker on this machine has the data of ${workgroupId} open`;
      throw unavailable(
        `${state}, so nothing was done; if a worker runs here, it tries again by itself ("wattline status" shows why it failed); if none runs, start it, or ask on its machine`,
        OWNER_RETRY_SECONDS,
        state,
      );
    }
    case 'failed':
      throw refusalOf(outcome.error);
    default:
      return outcome satisfies never;
  }
}
