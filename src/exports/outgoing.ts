/** A file that is to go out. */
export interface Outgoing {
  path: string;
  name: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
  contentType: string;
  /** The same for every attempt at the same file. */
  idempotencyKey: string;
}
