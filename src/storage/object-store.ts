import { TerminalError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { MEBIBYTE } from '../lib/units.ts';

/**
 * A folder or a bucket of immutable objects. A lake, its snapshots and its backups have the same keys in
 * both.
 *
 * No method repeats a request: a repeated creation would look like the creation of another writer.
 * `createOnce` does it safely, and `repeatRequests` repeats the others. Every method throws a TransientError
 * if the same call can succeed later, and a TerminalError if somebody has to change something.
 */
export interface ObjectStore {
  /** The path of the folder, or `s3://bucket/prefix`. For messages. It never contains keys of access. */
  readonly address: string;
  /**
   * Creates an object only if the key is free. This is atomic among all writers.
   * @throws TransientError if the answer was lost; then the object may exist
   */
  createKey(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'created' | 'exists'>;
  /**
   * Stores an object whose name is used once. Storing the same object again changes nothing. Checks `sha256`.
   */
  put(key: string, content: ObjectContent, signal?: AbortSignal): Promise<void>;
  /**
   * @returns undefined if the key does not exist.
   * @throws TerminalError if the object is larger than `bytesMax`
   */
  get(key: string, options?: GetOptions): Promise<Buffer | undefined>;
  /**
   * Bytes `start` to `start + length - 1`.
   * @returns undefined if the key does not exist, fewer bytes at the end of the object
   */
  getRange(key: string, start: number, length: number, signal?: AbortSignal): Promise<Buffer | undefined>;
  /**
   * Copies an object to a local file, which appears only when it is complete, durable and checked.
   * @returns false if the key does not exist
   * @throws TerminalError `ObjectDamaged` if the bytes do not have the SHA-256
   */
  download(key: string, path: string, expected: ExpectedObject, signal?: AbortSignal): Promise<boolean>;
  /** Objects whose keys begin with `prefix` and come after `startAfter`, in the order of their keys. */
  list(prefix: string, options?: ListOptions): AsyncGenerator<ListedObject>;
  /** Deletes an object. Does nothing if it does not exist. */
  remove(key: string, signal?: AbortSignal): Promise<void>;
}

export type ObjectContent = { bytes: Uint8Array } | { path: string; bytes: number; sha256: string };

interface GetOptions {
  /** Default: 64 MiB. */
  bytesMax?: number;
  signal?: AbortSignal;
}

export interface ListOptions {
  startAfter?: string;
  /** The maximum number of objects. Up to 1,000 cost one request. Default: all. */
  keysMax?: number;
  signal?: AbortSignal;
}

export interface ExpectedObject {
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

export interface ListedObject {
  key: string;
  bytes: number;
  modifiedAtMs: number;
}

/** The maximum number of bytes that `get` returns if nothing else is asked. */
export const GET_BYTES_MAX = 64 * MEBIBYTE;

const KEY_BYTES_MAX = 900;

/**
 * Checks a key: parts of safe characters, joined by slashes. Keys become paths and addresses.
 * @throws TerminalError if it is not safe
 */
export function checkKey(key: string): string {
  if (key.length <= KEY_BYTES_MAX && key.split('/').every(isSafePart)) return key;
  throw new TerminalError('UnsafeKey', `"${key}" cannot be the name of an object`);
}

/** A prefix is empty, or a key that can end with a slash. */
export function checkPrefix(prefix: string): string {
  if (prefix !== '') checkKey(prefix.replace(/\/$/, ''));
  return prefix;
}

function isSafePart(part: string): boolean {
  return /^[A-Za-z0-9!_.*'()=%~+@,: -]+$/.test(part) && !/^\.{1,2}$/.test(part);
}

export function damagedObject(address: string, key: string, what: string): TerminalError {
  return new TerminalError('ObjectDamaged', `${address}/${key} is damaged: ${what}`, {
    details: { store: address, key },
  });
}

export function objectTooLarge(address: string, key: string, bytesMax: number): TerminalError {
  return new TerminalError(
    'ObjectTooLarge',
    `${address}/${key} has more than ${formatCount(bytesMax)} bytes`,
    { details: { store: address, key, bytesMax } },
  );
}
