/** A file to deliver. */
export interface Outgoing {
  path: string;
  name: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
  contentType: string;
  /** The same for every attempt with the same file. */
  idempotencyKey: string;
}
