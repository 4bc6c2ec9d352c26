import { InputError, type Problem } from '../lib/errors.ts';

/** An error for one argument or option. */
export function commandLineError(path: string, message: string): InputError {
  return commandLineErrors([{ path, message }]);
}

/** An error for all problems of a command line. */
export function commandLineErrors(problems: readonly Problem[]): InputError {
  return new InputError('the command line', problems);
}
