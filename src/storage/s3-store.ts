import { createHash } from 'node:crypto';
import { createReadStream, ReadStream } from 'node:fs';
import type { Dispatcher } from 'undici';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { readListAnswer } from './list-answer.ts';
import {
  checkKey,
  checkPrefix,
  damagedObject,
  GET_BYTES_MAX,
  type ListedObject,
  type ListOptions,
  type ObjectContent,
  type ObjectStore,
  objectTooLarge,
} from './object-store.ts';
import { receiveFile } from './receive-file.ts';
import { type S3Action, type S3Refusal, s3Code, s3Failure, unreachable } from './s3-failure.ts';
import { EMPTY_SHA256, objectUrl, type S3Bucket, type S3Credentials, signS3 } from './sign-s3.ts';

export interface S3Settings extends S3Bucket, S3Credentials {
  /** Comes before every key. Empty, or it ends with a slash. */
  prefix: string;
  timeouts?: Partial<S3Timeouts>;
}

interface S3Timeouts {
  /** The longest silence of the store. */
  silenceMs: number;
  /** The longest request without its bytes. */
  requestMs: number;
  /** The time that each MiB may take in addition. */
  mebibyteMs: number;
}

const TIMEOUTS: S3Timeouts = { silenceMs: 30 * SECOND_MS, requestMs: MINUTE_MS, mebibyteMs: 10 * SECOND_MS };
/** A timer of Node with a longer time ends at once, and the noted size of an object can be wrong. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** S3 takes no more with one PUT. */
const PUT_BYTES_MAX = 5 * 1024 * MEBIBYTE;
const KEYS_PER_PAGE = 1_000;
const LIST_BYTES_MAX = 8 * MEBIBYTE;
const REFUSAL_BYTES_MAX = 16_384;

interface Asked {
  method: 'GET' | 'PUT' | 'DELETE';
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  content?: ObjectContent;
  /** The most bytes of the answer, for the time-out. */
  answerBytes?: number;
  signal?: AbortSignal | undefined;
}

type Outcome<Result> = { kind: 'ok'; result: Result } | ({ kind: 'refused' } & S3Refusal);
type Answer = Dispatcher.ResponseData;

/**
 * Objects in a bucket of S3 or a store of the same protocol. Each method sends one request, `list` one for
 * each page.
 */
export function createS3Store(settings: S3Settings): ObjectStore {
  const { endpoint, bucket, prefix } = settings;
  const timeouts = { ...TIMEOUTS, ...settings.timeouts };
  const address = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
  const keyOf = (key: string) => prefix + checkKey(key);
  const failed = (action: S3Action, refusal: S3Refusal) => s3Failure(address, action, refusal);

  /**
   * Sends one request. Redirects are not followed, because they would send the signature to another server.
   */
  async function ask<Result>(
    asked: Asked,
    read: (answer: Answer) => Promise<Result>,
  ): Promise<Outcome<Result>> {
    const { method, key, query = {}, headers = {}, content, answerBytes = 0, signal } = asked;
    const url = new URL(objectUrl(settings, key));
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const body = content && (await describeContent(content));
    const hashes = {
      'X-Amz-Content-Sha256': body?.sha256 ?? EMPTY_SHA256,
      ...(body && { 'Content-MD5': body.md5 }),
    };
    const signed = await signS3(settings, { method, url: url.href, headers: { ...hashes, ...headers } });
    const bytes = (body?.bytes ?? 0) + answerBytes;
    const timeout = AbortSignal.timeout(
      Math.min(TIMER_MS_MAX, timeouts.requestMs + Math.ceil(bytes / MEBIBYTE) * timeouts.mebibyteMs),
    );
    // Loaded at first use, because most services have no bucket.
    const { request } = await import('undici');
    const stream = content && ('path' in content ? createReadStream(content.path) : content.bytes);
    try {
      const answer = await request(signed.url, {
        method,
        headers: { ...signed.headers, ...(body && { 'content-length': String(body.bytes) }) },
        body: stream ?? null,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        headersTimeout: timeouts.silenceMs,
        bodyTimeout: timeouts.silenceMs,
      });
      const { statusCode: status } = answer;
      if (status >= 200 && status <= 299) return { kind: 'ok', result: await read(answer) };
      return { kind: 'refused', status, text: (await bytesOf(answer, REFUSAL_BYTES_MAX)).toString('utf8') };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TerminalError || error instanceof TransientError || isLocal(error)) throw error;
      throw unreachable(address, endpoint, timeout.aborted ? new Error('no complete answer in time') : error);
    } finally {
      if (stream instanceof ReadStream) stream.destroy();
    }
  }

  async function* list(
    below: string,
    { startAfter = '', keysMax = Number.POSITIVE_INFINITY, signal }: ListOptions = {},
  ): AsyncGenerator<ListedObject> {
    const from = prefix + checkPrefix(below);
    let after = startAfter === '' ? '' : keyOf(startAfter);
    let left = keysMax;
    for (let isTruncated = true; isTruncated && left > 0; ) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': String(Math.min(KEYS_PER_PAGE, left)),
        prefix: from,
        ...(after !== '' && { 'start-after': after }),
      };
      const asked = { method: 'GET', key: '', query, answerBytes: LIST_BYTES_MAX, signal } as const;
      const outcome = await ask(asked, async (answer) => {
        const bytes = await bytesOf(answer, LIST_BYTES_MAX + 1);
        if (bytes.length > LIST_BYTES_MAX)
          throw objectTooLarge(address, 'the answer to a list', LIST_BYTES_MAX);
        return readListAnswer(bytes.toString('utf8'), address);
      });
      if (outcome.kind === 'refused') throw failed('list', outcome);
      for (const object of outcome.result.objects) {
        // The next page starts after this key, so another order would leave keys out or never end.
        if (!object.key.startsWith(from) || object.key <= after) throw wrongOrder(address);
        after = object.key;
        left -= 1;
        yield { ...object, key: object.key.slice(prefix.length) };
      }
      isTruncated = outcome.result.isTruncated;
    }
  }

  return {
    address,
    async createKey(key, bytes, signal) {
      const headers = { 'If-None-Match': '*' };
      const asked = { method: 'PUT', key: keyOf(key), headers, content: { bytes }, signal } as const;
      const outcome = await ask(asked, drain);
      if (outcome.kind === 'ok') return 'created';
      if (outcome.status === 412) return 'exists';
      throw failed('create', outcome);
    },
    async put(key, content, signal) {
      const bytes = 'path' in content ? content.bytes : content.bytes.length;
      if (bytes > PUT_BYTES_MAX) throw objectTooLarge(address, key, PUT_BYTES_MAX);
      const outcome = await ask({ method: 'PUT', key: keyOf(key), content, signal }, drain);
      if (outcome.kind === 'refused') throw failed('put', outcome);
    },
    async get(key, { bytesMax = GET_BYTES_MAX, signal } = {}) {
      const asked = { method: 'GET', key: keyOf(key), answerBytes: bytesMax, signal } as const;
      const outcome = await ask(asked, (answer) => bytesOf(answer, bytesMax + 1));
      if (isMissing(outcome)) return undefined;
      if (outcome.kind === 'refused') throw failed('get', outcome);
      if (outcome.result.length > bytesMax) throw objectTooLarge(address, key, bytesMax);
      return outcome.result;
    },
    async getRange(key, start, length, signal) {
      if (length === 0) return Buffer.alloc(0);
      const headers = { Range: `bytes=${start}-${start + length - 1}` };
      const asked = { method: 'GET', key: keyOf(key), headers, answerBytes: length, signal } as const;
      const outcome = await ask(asked, async (answer) => {
        if (answer.statusCode === 206) return bytesOf(answer, length);
        answer.body.on('error', () => undefined).destroy();
        throw new TerminalError(
          'StorageUnsuitable',
          `${address}: the store ignores ranges; use another store`,
        );
      });
      if (isMissing(outcome)) return undefined;
      if (outcome.kind === 'ok') return outcome.result;
      if (outcome.status === 416) return Buffer.alloc(0);
      throw failed('get', outcome);
    },
    async download(key, path, expected, signal) {
      const asked = { method: 'GET', key: keyOf(key), answerBytes: expected.bytes, signal } as const;
      const damaged = (what: string) => damagedObject(address, key, what);
      const outcome = await ask(asked, (answer) =>
        receiveFile(answer.body, path, expected, { damaged, signal }),
      );
      if (isMissing(outcome)) return false;
      if (outcome.kind === 'refused') throw failed('get', outcome);
      return true;
    },
    list,
    async remove(key, signal) {
      const outcome = await ask({ method: 'DELETE', key: keyOf(key), signal }, drain);
      if (outcome.kind === 'refused' && !isMissing(outcome)) throw failed('delete', outcome);
    },
  };
}

/** The key does not exist. A bucket that does not exist has the same status. */
function isMissing(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'refused' && outcome.status === 404 && s3Code(outcome.text) !== 'NoSuchBucket';
}

/** The size of a content and the sums that the store checks. */
async function describeContent(
  content: ObjectContent,
): Promise<{ bytes: number; sha256: string; md5: string }> {
  if ('path' in content) {
    const hash = createHash('md5');
    for await (const chunk of createReadStream(content.path, { highWaterMark: MEBIBYTE })) hash.update(chunk);
    return { bytes: content.bytes, sha256: content.sha256, md5: hash.digest('base64') };
  }
  const { bytes } = content;
  const sum = (name: string) => createHash(name).update(bytes);
  return { bytes: bytes.length, sha256: sum('sha256').digest('hex'), md5: sum('md5').digest('base64') };
}

/** The first bytes of an answer, at most `bytesMax`. The rest is not read. */
async function bytesOf({ body }: Answer, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= bytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, bytesMax);
}

async function drain(answer: Answer): Promise<void> {
  await bytesOf(answer, REFUSAL_BYTES_MAX);
}

/** An error of this machine's disk, not of the store. */
function isLocal(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

function wrongOrder(address: string): TerminalError {
  return new TerminalError(
    'StorageUnsuitable',
    `${address}: the store does not list keys in their order from start-after on; use another store`,
  );
}
