import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { MalformedError } from '../cbor/malformed-error.ts';
import { type StreamErrorCode, streamErrors } from '../contract/stream-errors.ts';
import type { NameTable } from '../decode/message-columns.ts';
import { createMessageDecoder, type DecodedBody, type MessageDecoder } from '../decode/message-decoder.ts';
import { readOffset } from '../decode/parse-message.ts';
import { errorMessage, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { ErrorOutcome, ReadOutcome } from './read-outcome.ts';
import type { RawAnswer } from './rest-source.ts';

interface InterpretOptions {
  /**
   * The table of messages that name no table. The name `-` stands for all tables, so with it these messages
   * are refused.
   */
  defaultTable?: string | undefined;
  /** The largest size of a decompressed answer. */
  bytesMax?: number;
}

/** Reads an answer. The result depends only on the answer, so it can run in any thread. It never throws. */
export type Interpreter = (answer: RawAnswer) => ReadOutcome;

/**
 * Creates an interpreter for the answers of any server. It uses its columns again, so a batch is valid until
 * the next answer.
 * @param names gives the ids of tables, sources and fields
 */
export function createInterpreter(names: NameTable, options: InterpretOptions = {}): Interpreter {
  const decoder = createMessageDecoder(names);
  const { defaultTable, bytesMax = 256 * MEBIBYTE } = options;
  return (answer) => {
    try {
      const plain = { ...answer, bytes: decompressed(answer, bytesMax) };
      if (looksLikeHtml(plain)) return pageOutcome(plain);
      if (plain.status >= 300) return failedAnswer(plain, decoder);
      return goodAnswer(plain, decoder, defaultTable);
    } catch (error) {
      return failureOutcome(error, answer.status);
    }
  };
}

/** Turns an error of `fetch` or of decoding into an outcome. */
export function failureOutcome(error: unknown, status = 0): ErrorOutcome {
  const isOurs = error instanceof TransientError || error instanceof TerminalError;
  return {
    ...nothingKnown,
    kind: 'error',
    code: error instanceof MalformedError ? 'MalformedAnswer' : isOurs ? error.code : 'ReadFailed',
    status,
    message: errorMessage(error),
    // A broken answer may arrive whole the next time.
    retryable: error instanceof MalformedError || isRetryable(error),
    aboutPosition: 'no',
  };
}

type PlainAnswer = Omit<RawAnswer, 'bytes'> & { bytes: Uint8Array };

const nothingKnown = {
  retryAfterMs: undefined,
  earliestOffset: undefined,
  nextOffset: undefined,
  epoch: undefined,
};

const decompressors: Readonly<
  Record<string, (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer>
> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** We ask for bytes without compression, but some servers and proxies compress anyway. */
function decompressed({ bytes, contentEncoding }: RawAnswer, bytesMax: number): Uint8Array {
  if (contentEncoding === '' || contentEncoding === 'identity' || bytes.length === 0) return bytes;
  const decompress = Object.hasOwn(decompressors, contentEncoding)
    ? decompressors[contentEncoding]
    : undefined;
  if (!decompress) {
    throw new TerminalError('UnknownEncoding', `the answer is encoded as "${contentEncoding.slice(0, 40)}"`);
  }
  try {
    return decompress(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    throw new TransientError('MalformedAnswer', `the answer does not decompress (${contentEncoding})`, {
      cause: error,
    });
  }
}

function goodAnswer(
  answer: PlainAnswer,
  decoder: MessageDecoder,
  defaultTable: string | undefined,
): ReadOutcome {
  const headerOffset = readOffset(answer.nextOffset);
  // An empty body is an empty sequence. But if the server announces a map or an array, the body was lost.
  if (
    answer.bytes.length === 0 &&
    answer.status !== 204 &&
    /^application\/(cbor|json)$/.test(answer.contentType)
  ) {
    throw new TransientError('EmptyAnswer', 'the answer has no body');
  }
  const body = decoder.decode(answer.bytes, { defaultTable });
  if (body.kind === 'error') return errorOutcome(answer, body);
  return {
    kind: 'batch',
    columns: body.columns,
    nextOffset: body.nextOffset ?? headerOffset,
    upToDate: body.upToDate ?? answer.upToDate,
    epoch: body.epoch,
    earliestOffset: body.earliestOffset,
    clamped: body.clamped === 'retention' || body.clamped === 'future' ? body.clamped : undefined,
  };
}

/**
 * Reads an answer with an error status. Its body may be an error of the contract, another error, or anything.
 */
function failedAnswer(answer: PlainAnswer, decoder: MessageDecoder): ErrorOutcome {
  let body: DecodedBody | undefined;
  try {
    body = answer.bytes.length > 0 ? decoder.decode(answer.bytes) : undefined;
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
  }
  if (body?.kind === 'error') return errorOutcome(answer, body);
  const { status } = answer;
  // The text of an unknown error is readable in the bytes, both of CBOR and of JSON.
  const text = Buffer.from(answer.bytes.subarray(0, 2_000)).toString('latin1');
  return {
    ...nothingKnown,
    kind: 'error',
    code: `Http${status}`,
    status,
    message: `the server answered with status ${status}`,
    retryable: isRetryableStatus(status),
    aboutPosition: aboutPosition(status, text, undefined),
    retryAfterMs: answer.retryAfterMs,
  };
}

function errorOutcome(answer: PlainAnswer, body: DecodedBody & { kind: 'error' }): ErrorOutcome {
  const { members } = body;
  const known = Object.hasOwn(streamErrors, body.error)
    ? streamErrors[body.error as StreamErrorCode]
    : undefined;
  const named = typeof members.status === 'number' && members.status >= 400 ? members.status : known?.status;
  const status = answer.status >= 400 ? answer.status : (named ?? answer.status);
  const parameter = typeof members.parameter === 'string' ? members.parameter : undefined;
  return {
    kind: 'error',
    code: body.error.slice(0, 100),
    status,
    message: body.message.slice(0, 500),
    retryable: typeof members.retryable === 'boolean' ? members.retryable : isRetryableStatus(status),
    aboutPosition: aboutPosition(status, `${body.error} ${body.message}`, parameter),
    retryAfterMs: answer.retryAfterMs,
    earliestOffset: body.earliestOffset,
    nextOffset: body.nextOffset,
    epoch: body.epoch,
  };
}

function pageOutcome({ status, retryAfterMs }: PlainAnswer): ErrorOutcome {
  return {
    ...nothingKnown,
    kind: 'error',
    code: 'UnexpectedPage',
    status,
    message: `the server answered with a web page (status ${status}); is a proxy in between, or is the address wrong?`,
    retryable: true,
    aboutPosition: 'no',
    retryAfterMs,
  };
}

/**
 * Tells if an error is about the requested position: 410 and 416 always, other statuses if the text names the
 * position.
 */
function aboutPosition(
  status: number,
  words: string,
  parameter: string | undefined,
): ErrorOutcome['aboutPosition'] {
  if (status === 410 || status === 416) return 'yes';
  // With a status of success only the text can tell.
  if (status !== 400 && status !== 404 && status >= 300) return 'no';
  if (parameter !== undefined) return /offset|cursor|position|timestamp/i.test(parameter) ? 'yes' : 'no';
  if (/limit|workgroup|table/i.test(words) && !/offset|cursor/i.test(words)) return 'no';
  if (/offset|cursor|position|timestamp|retention|expired|too old|out of range/i.test(words)) return 'yes';
  return status < 300 ? 'no' : 'maybe';
}

/** Status 0 and statuses of success mean a failure elsewhere, which may pass. */
function isRetryableStatus(status: number): boolean {
  return status < 300 || status === 408 || status === 425 || status === 429 || status >= 500;
}

function looksLikeHtml({ contentType, bytes }: PlainAnswer): boolean {
  if (contentType === 'text/html' || contentType === 'application/xhtml+xml') return true;
  const start = Buffer.from(bytes.subarray(0, 64))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  return /^<(!doctype|html|\?xml|head|body)/i.test(start);
}
