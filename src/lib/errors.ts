import { formatCount } from './format-count.ts';

/**
 * Errors say if a retry makes sense. Messages say what happened, where, and what to do. They never contain
 * secrets or payloads.
 */
abstract class WattlineError extends Error {
  /** A stable identifier for programs and log searches, in PascalCase. */
  readonly code: string;
  /** Facts for the reader. Never secrets or payloads. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** The request is correct. The same call may succeed later (network, overload, a busy file). */
export class TransientError extends WattlineError {
  readonly retryable = true;
}

/** The same call fails again until somebody changes the thing that the message names. */
export class TerminalError extends WattlineError {
  readonly retryable = false;
}

/**
 * Another worker has taken the shard. The transaction has changed nothing in the warehouse, and this worker
 * must stop.
 */
export class StaleOwnerError extends TerminalError {
  constructor(workgroupId: string, ownEpoch: bigint, currentEpoch: bigint) {
    super('StaleOwner', `another worker owns workgroup ${workgroupId} now; its warehouse is unchanged`, {
      details: { workgroupId, ownEpoch: String(ownEpoch), currentEpoch: String(currentEpoch) },
    });
  }
}

/** The code of an error: something is stored on the machine of a worker, and the bucket cannot be reached. */
export const NOT_IN_BUCKET = 'NotInBucket';

/** All problems of a file or an option, reported at once. */
export class InputError extends TerminalError {
  readonly problems: readonly Problem[];

  /** @param count the number of all problems, if only the first are listed */
  constructor(what: string, problems: readonly Problem[], count = problems.length) {
    const lines = problems.map(({ path, message }) =>
      path === '' ? `  ${message}` : `  ${path}: ${message}`,
    );
    super(
      'InvalidInput',
      `${what} has ${count === 1 ? 'a problem' : `${formatCount(count)} problems`}:\n${lines.join('\n')}`,
      {
        details: { what, problems },
      },
    );
    this.problems = problems;
  }
}

/** One problem and its place: a dotted path, a line, a parameter. */
export interface Problem {
  path: string;
  message: string;
}

/** True if a retry makes sense. Errors that are not ours (a socket error, a bug) count as temporary. */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof TerminalError);
}

/** The time (ms) that a server asks to wait before the next attempt; undefined if the error names none. */
export function retryAfterMsOf(error: unknown): number | undefined {
  const retryAfterMs = error instanceof TransientError ? error.details.retryAfterMs : undefined;
  return typeof retryAfterMs === 'number' ? retryAfterMs : undefined;
}

/** The message of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The text in `code` of an error of the system, of a library or our own, such as ENOENT. Undefined if it has
 * none.
 */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What is wrong with a file that cannot be read: `cannot be read (ENOENT)`. */
export function cannotBeRead(error: unknown): string {
  return `cannot be read (${errorCode(error)})`;
}

/** True if a file operation failed because there is no such file or folder. */
export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** For `catch`: the result if there is no such file or folder. Throws all other errors again. */
export function ifMissing<Result>(result: Result): (error: unknown) => Result {
  return (error) => {
    if (isMissing(error)) return result;
    throw error;
  };
}
