import { CommanderError } from 'commander';
import { StreamError, streamErrors } from '../../contract/stream-errors.ts';
import { InputError, TransientError } from '../../lib/errors.ts';

/** What a command's exit code says. Scripts rely on these. */
export const exitCodes = {
  /** It did what was asked. */
  done: 0,
  /** It failed, and will again until something is changed. */
  failed: 1,
  /** The command line or the configuration is wrong; nothing was done. */
  wrongInput: 2,
  /** Something could not be reached or was not ready; the same command may succeed later. */
  tryAgain: 3,
  /** It told how things are, and a workgroup is not worked on as it should be. */
  failing: 4,
} as const;

export const exitCodesHelp = `
Exit codes:
  0  it did what was asked
  1  it failed, and will again until something is changed
  2  the command line or the configuration is wrong; nothing was done
  3  something could not be reached or was not ready; trying again may help
  4  "wattline status" alone: it printed all, and a stage has failed for minutes, or data cannot be opened`;

/** The code of the error that `status` ends with after it has printed all. */
export const FAILING_CODE = 'WorkgroupsFailing';

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongInput;
  if (error instanceof InputError) return exitCodes.wrongInput;
  if (error instanceof TransientError && error.code === FAILING_CODE) return exitCodes.failing;
  if (error instanceof TransientError) return exitCodes.tryAgain;
  if (error instanceof StreamError && streamErrors[error.code].retryable) return exitCodes.tryAgain;
  return exitCodes.failed;
}
