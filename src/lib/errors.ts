/**
 * Failures, told apart by the one question a caller has: is trying again worth it?
 * Messages say what happened, where, and what to do next; they never hold secrets or payloads.
 */
abstract class WattlineError extends Error {
  /** A stable identifier that programs and log searches can rely on, in PascalCase. */
  readonly code: string;
  /** Facts a reader needs to act on, never secrets or payloads. */
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

/** Nothing is wrong with the request: the same call may succeed later (network, overload, a busy file). */
export class TransientError extends WattlineError {
  readonly retryable = true;
}

/** The same call will fail again until somebody changes something; the message says what. */
export class TerminalError extends WattlineError {
  readonly retryable = false;
}

/** Another worker has taken the shard over: whatever was under way has had no effect and must stop. */
export class StaleOwnerError extends TerminalError {
  constructor(workgroupId: string, ownEpoch: bigint, currentEpoch: bigint) {
    super('StaleOwner', `another worker owns workgroup ${workgroupId} now; nothing was written`, {
      details: { workgroupId, ownEpoch: String(ownEpoch), currentEpoch: String(currentEpoch) },
    });
  }
}

/** Everything that is wrong with what a person wrote (a file, an option), reported at once. */
export class InputError extends TerminalError {
  readonly problems: readonly Problem[];

  /** @param count of all, where only the first are listed */
  constructor(what: string, problems: readonly Problem[], count = problems.length) {
    const lines = problems.map(({ path, message }) =>
      path === '' ? `  ${message}` : `  ${path}: ${message}`,
    );
    super(
      'InvalidInput',
      `${what} has ${count === 1 ? 'a problem' : `${count.toLocaleString('en')} problems`}:\n${lines.join('\n')}`,
      {
        details: { what, problems },
      },
    );
    this.problems = problems;
  }
}

/** One thing that is wrong, and where: a dotted path, a line, a parameter. */
export interface Problem {
  path: string;
  message: string;
}

/** Whether a retry is worth it. What is not one of ours (a socket error, a bug) is taken to be transient. */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof TerminalError);
}

/** The message of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a failed file operation, such as ENOENT; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
