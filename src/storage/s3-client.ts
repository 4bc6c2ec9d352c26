import { createHash } from 'node:crypto';
import { createReadStream, ReadStream } from 'node:fs';
import type { Dispatcher } from 'undici';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { ObjectContent } from './object-store.ts';
import { type S3Refusal, unreachable } from './s3-failure.ts';
import { EMPTY_SHA256, objectUrl, type S3Bucket, type S3Credentials, signS3 } from './sign-s3.ts';

export interface S3ClientSettings extends S3Bucket, S3Credentials {
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
const REFUSAL_BYTES_MAX = 16_384;

/** One request about an object, or about the bucket. */
interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** With the prefix. Empty for the bucket. */
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  content?: ObjectContent;
  /** The maximum number of bytes of the answer, for the time-out. */
  answerBytes?: number;
  signal?: AbortSignal | undefined;
}

export type S3Outcome<Result> = { kind: 'ok'; result: Result } | ({ kind: 'refused' } & S3Refusal);
type S3Answer = Dispatcher.ResponseData;

/** Sends signed requests to a bucket. It repeats none. */
interface S3Client {
  /**
   * Sends one request. Redirects are not followed, because they would send the signature to another server.
   * @param read reads the answer, unless the store has refused the request
   * @throws TransientError StorageUnreachable without a complete answer; the store may have carried it out
   */
  ask<Result>(request: S3Request, read: (answer: S3Answer) => Promise<Result>): Promise<S3Outcome<Result>>;
}

/** @param address for messages, without keys of access */
export function createS3Client(settings: S3ClientSettings, address: string): S3Client {
  const timeouts = { ...TIMEOUTS, ...settings.timeouts };

  async function ask<Result>(
    asked: S3Request,
    read: (answer: S3Answer) => Promise<Result>,
  ): Promise<S3Outcome<Result>> {
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
      if (status >= 200 && status <= 299) {
        if (isOfObject(asked) && answer.headers.etag === undefined) {
          answer.body.on('error', () => undefined).destroy();
          throw new TransientError(
            'StorageUnreachable',
            `${address}: the answer (HTTP ${status}) has no ETag, so it is not from an S3 server; check the endpoint, and proxies on the way`,
            { details: { store: address } },
          );
        }
        return { kind: 'ok', result: await read(answer) };
      }
      return {
        kind: 'refused',
        status,
        text: (await bytesInAnswer(answer, REFUSAL_BYTES_MAX)).toString('utf8'),
      };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TerminalError || error instanceof TransientError || isLocal(error)) throw error;
      throw unreachable(
        address,
        settings.endpoint,
        timeout.aborted ? new Error('no complete answer in time') : error,
      );
    } finally {
      if (stream instanceof ReadStream) stream.destroy();
    }
  }

  return { ask };
}

/** S3 answers a request that writes or reads an object with the ETag of the object. */
function isOfObject({ method, key }: S3Request): boolean {
  return key !== '' && method !== 'DELETE';
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
export async function bytesInAnswer({ body }: S3Answer, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= bytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, bytesMax);
}

/** Reads the answer to its end. */
export async function drainAnswer(answer: S3Answer): Promise<void> {
  await bytesInAnswer(answer, REFUSAL_BYTES_MAX);
}

/** An error of this machine's disk, not of the store. */
function isLocal(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}
