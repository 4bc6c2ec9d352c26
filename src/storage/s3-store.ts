import { TerminalError } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { readListAnswer } from './list-answer.ts';
import {
  checkKey,
  checkPrefix,
  damagedObject,
  GET_BYTES_MAX,
  type ListedObject,
  type ListOptions,
  type ObjectStore,
  objectTooLarge,
} from './object-store.ts';
import { receiveFile } from './receive-file.ts';
import {
  bytesInAnswer,
  createS3Client,
  drainAnswer,
  type S3ClientSettings,
  type S3Outcome,
} from './s3-client.ts';
import { type S3Action, type S3Refusal, s3Code, s3Failure } from './s3-failure.ts';

export interface S3Settings extends S3ClientSettings {
  /** Comes before every key. Empty, or it ends with a slash. */
  prefix: string;
}

/** S3 takes no more with one PUT. */
const PUT_BYTES_MAX = 5 * 1024 * MEBIBYTE;
const KEYS_PER_PAGE = 1_000;
const LIST_BYTES_MAX = 8 * MEBIBYTE;

/**
 * Objects in a bucket of S3 or a store of the same protocol. Each method sends one request, `list` one for
 * each page.
 */
export function createS3Store(settings: S3Settings): ObjectStore {
  const { bucket, prefix } = settings;
  const address = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
  const keyOf = (key: string) => prefix + checkKey(key);
  const { ask } = createS3Client(settings, address);
  const failure = (action: S3Action, refusal: S3Refusal) => s3Failure(address, action, refusal);

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
      const request = { method: 'GET', key: '', query, answerBytes: LIST_BYTES_MAX, signal } as const;
      const outcome = await ask(request, async (answer) => {
        const bytes = await bytesInAnswer(answer, LIST_BYTES_MAX + 1);
        if (bytes.length > LIST_BYTES_MAX)
          throw objectTooLarge(address, 'the answer to a list', LIST_BYTES_MAX);
        return readListAnswer(bytes.toString('utf8'), address);
      });
      if (outcome.kind === 'refused') throw failure('list', outcome);
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
      const request = { method: 'PUT', key: keyOf(key), headers, content: { bytes }, signal } as const;
      const outcome = await ask(request, drainAnswer);
      if (outcome.kind === 'ok') return 'created';
      if (outcome.status === 412) return 'exists';
      throw failure('create', outcome);
    },
    async put(key, content, signal) {
      const bytes = 'path' in content ? content.bytes : content.bytes.length;
      if (bytes > PUT_BYTES_MAX) throw objectTooLarge(address, key, PUT_BYTES_MAX);
      const outcome = await ask({ method: 'PUT', key: keyOf(key), content, signal }, drainAnswer);
      if (outcome.kind === 'refused') throw failure('put', outcome);
    },
    async get(key, { bytesMax = GET_BYTES_MAX, signal } = {}) {
      const request = { method: 'GET', key: keyOf(key), answerBytes: bytesMax, signal } as const;
      const outcome = await ask(request, (answer) => bytesInAnswer(answer, bytesMax + 1));
      if (isMissing(outcome)) return undefined;
      if (outcome.kind === 'refused') throw failure('get', outcome);
      if (outcome.result.length > bytesMax) throw objectTooLarge(address, key, bytesMax);
      return outcome.result;
    },
    async getRange(key, start, length, signal) {
      if (length === 0) return Buffer.alloc(0);
      const headers = { Range: `bytes=${start}-${start + length - 1}` };
      const request = { method: 'GET', key: keyOf(key), headers, answerBytes: length, signal } as const;
      const outcome = await ask(request, async (answer) => {
        if (answer.statusCode === 206) return bytesInAnswer(answer, length);
        answer.body.on('error', () => undefined).destroy();
        throw new TerminalError(
          'StorageUnsuitable',
          `${address}: the store ignores ranges; use another store`,
        );
      });
      if (isMissing(outcome)) return undefined;
      if (outcome.kind === 'ok') return outcome.result;
      if (outcome.status === 416) return Buffer.alloc(0);
      throw failure('get', outcome);
    },
    async download(key, path, expected, signal) {
      const request = { method: 'GET', key: keyOf(key), answerBytes: expected.bytes, signal } as const;
      const damagedError = (what: string) => damagedObject(address, key, what);
      const outcome = await ask(request, (answer) =>
        receiveFile(answer.body, path, expected, { damagedError, signal }),
      );
      if (isMissing(outcome)) return false;
      if (outcome.kind === 'refused') throw failure('get', outcome);
      return true;
    },
    list,
    async remove(key, signal) {
      const outcome = await ask({ method: 'DELETE', key: keyOf(key), signal }, drainAnswer);
      if (outcome.kind === 'refused' && !isMissing(outcome)) throw failure('delete', outcome);
    },
  };
}

/** The key does not exist. A bucket that does not exist has the same status. */
function isMissing(outcome: S3Outcome<unknown>): boolean {
  return outcome.kind === 'refused' && outcome.status === 404 && s3Code(outcome.text) !== 'NoSuchBucket';
}

function wrongOrder(address: string): TerminalError {
  return new TerminalError(
    'StorageUnsuitable',
    `${address}: the store does not list keys in their order from start-after on; use another store`,
  );
}
