import { CommanderError } from 'commander';
import { StreamError, streamErrors } from '../../contract/stream-errors.ts';
import { InputError, TransientError } from '../../lib/errors.ts';

/** Exit codes of commands. Scripts rely on them. */
export const exitCodes = {
  /** Success. */
  done: 0,
  /** Failure. It will fail again until something changes. */
  failed: 1,
  /** The command line or the configuration is wrong. Nothing was done. */
  wrongInput: 2,
  /** Something was not reachable or not ready. The same command may succeed later. */
  tryAgain: 3,
  /** `status`, `inputs` or `doctor` has printed everything, and something is wrong with the service. */
  failing: 4,
} as const;

export const exitCodesHelp = `
Exit codes:
  0  success
  1  failure; the command fails again until something changes
  2  the command line or the configuration is wrong; nothing was done
  3  something was not reachable or not ready; the same command may succeed later
  4  only "wattline status", "inputs" and "doctor": everything was printed, and the service has a problem`;

/**
 * The code of the error of `status`, `inputs` and `doctor` if they have printed everything and the service
 * has a problem.
 */
export const FAILING_CODE = 'WorkgroupsFailing';

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongInput;
  if (error instanceof InputError) return exitCodes.wrongInput;
  if (error instanceof TransientError && error.code === FAILING_CODE) return exitCodes.failing;
  if (error instanceof TransientError) return exitCodes.tryAgain;
  if (error instanceof StreamError && streamErrors[error.code].retryable) return exitCodes.tryAgain;
  return exitCodes.failed;
}
