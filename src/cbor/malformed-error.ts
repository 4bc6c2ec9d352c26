import { TerminalError } from '../lib/errors.ts';

/** Bytes that are not what they claim to be. Reading them again will not help; nothing of them was used. */
export class MalformedError extends TerminalError {
  /** Where in the bytes it shows, counted from their start. */
  readonly position: number;

  constructor(problem: string, position: number) {
    super('Malformed', `malformed at byte ${position}: ${problem}`, { details: { problem, position } });
    this.position = position;
  }
}
