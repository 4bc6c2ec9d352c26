import type { Ask } from './position.ts';
import type { RawAnswer, ReadRequest } from './rest-source.ts';

export type Transport = 'rest' | 'socket';

/** A source of answers, over REST or a socket. */
export interface StreamSource {
  /**
   * Reads once. `interpret` decodes the answer.
   * @returns undefined if a socket has received nothing within `waitSeconds`
   * @throws TransientError, TerminalError, or the signal's reason if it aborts
   */
  fetch(request: ReadRequest): Promise<RawAnswer | undefined>;
  /** Called when all fetched messages are stored. `ask` is the position after them. */
  noteLanded?(ask: Ask): void;
  /** The transport of the last answer. A socket reports new messages by itself, so no poll is needed. */
  readonly transport?: Transport;
  /** Takes a buffer back after its answer was interpreted; see `RestSource`. */
  recycle?(buffer: ArrayBuffer): void;
}
