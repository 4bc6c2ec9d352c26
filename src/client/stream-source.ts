import type { Ask } from './position.ts';
import type { RawAnswer, ReadRequest } from './rest-source.ts';

export type Transport = 'rest' | 'socket';

/** Where answers come from, whichever way. */
export interface StreamSource {
  /**
   * One read; understanding it is `interpret`'s part.
   * @returns undefined where a source that is pushed to has got nothing within `waitSeconds`
   * @throws TransientError, TerminalError, or the signal's reason when aborted
   */
  fetch(request: ReadRequest): Promise<RawAnswer | undefined>;
  /** Everything that was fetched is safe, and has led to `ask`: a source that is pushed to goes on from there. */
  landed?(ask: Ask): void;
  /** What the last answer came by. With a socket there is no need to come back: it is told when there is more. */
  readonly transport?: Transport;
  /** Takes back the buffer of an answer that nobody looks at any more; see `RestSource`. */
  recycle?(buffer: ArrayBuffer): void;
}
