import { TerminalError } from '../lib/errors.ts';

/** The bytes cannot be decoded. Nothing of them was used, and decoding them again gives the same error. */
export class MalformedError extends TerminalError {
  /** The byte at which the problem was found, from 0. */
  readonly position: number;

  constructor(problem: string, position: number) {
    super('Malformed', `malformed at byte ${position}: ${problem}`, { details: { problem, position } });
    this.position = position;
  }
}
