import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { MalformedError } from '../cbor/malformed-error.ts';
import { type StreamErrorCode, streamErrors } from '../contract/stream-errors.ts';
import type { NameTable } from '../decode/message-columns.ts';
import { createMessageDecoder, type DecodedBody, type MessageDecoder } from '../decode/message-decoder.ts';
import { readOffset } from '../decode/parse-message.ts';
import { errorMessage, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import type { ErrorOutcome, ReadOutcome } from './read-outcome.ts';
import type { RawAnswer } from './rest-source.ts';

export interface InterpretOptions {
  /** The table of messages that name none; for a reader of one table. */
  defaultTable?: string | undefined;
  /** A compressed answer may become this large. */
  bytesMax?: number;
}

/** What an answer means; a function of its bytes and nothing else, so it may run in any thread. Never throws. */
export type Interpreter = (answer: RawAnswer) => ReadOutcome;

/**
 * An interpreter of any server's answers. It reuses its columns: a batch is good until the next answer.
 * @param names where ids of tables, sources and fields come from
 */
export function createInterpreter(names: NameTable, options: InterpretOptions = {}): Interpreter {
  const decoder = createMessageDecoder(names);
  const { defaultTable, bytesMax = 256 * 1024 * 1024 } = options;
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

/** A read that came to nothing, as an outcome: what `fetch` threw, or bytes that are not what they should be. */
export function failureOutcome(error: unknown, status = 0): ErrorOutcome {
  const isOurs = error instanceof TransientError || error instanceof TerminalError;
  return {
    ...nothingKnown,
    kind: 'error',
    code: error instanceof MalformedError ? 'MalformedAnswer' : isOurs ? error.code : 'ReadFailed',
    status,
    message: errorMessage(error),
    // What was cut short or garbled once may come whole the next time.
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

/** We ask for plain bytes; a server or proxy that compresses all the same is understood. */
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
  // No bytes at all are an empty sequence, but no map or array: where one of those is announced, something was lost.
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

/** An answer with the status of a failure, whose body may be an error of the contract, of another kind, or anything. */
function failedAnswer(answer: PlainAnswer, decoder: MessageDecoder): ErrorOutcome {
  let body: DecodedBody | undefined;
  try {
    body = answer.bytes.length > 0 ? decoder.decode(answer.bytes) : undefined;
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
  }
  if (body?.kind === 'error') return errorOutcome(answer, body);
  const { status } = answer;
  // Text of an unknown error; in CBOR and JSON alike its words stand in the bytes as they are.
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

/** Whether the error is about where we asked to read from: 410 and 416 always, else where the words say so. */
function aboutPosition(
  status: number,
  words: string,
  parameter: string | undefined,
): ErrorOutcome['aboutPosition'] {
  if (status === 410 || status === 416) return 'yes';
  // Under a good status only the words tell.
  if (status !== 400 && status !== 404 && status >= 300) return 'no';
  if (parameter !== undefined) return /offset|cursor|position|timestamp/i.test(parameter) ? 'yes' : 'no';
  if (/limit|workgroup|table/i.test(words) && !/offset|cursor/i.test(words)) return 'no';
  if (/offset|cursor|position|timestamp|retention|expired|too old|out of range/i.test(words)) return 'yes';
  return status < 300 ? 'no' : 'maybe';
}

/** 0 and good statuses are here because something else went wrong, which may not last. */
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
