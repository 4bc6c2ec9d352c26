import { encodeCbor } from '../cbor/cbor-codec.ts';
import { limits } from '../contract/wire-limits.ts';
import { isMap } from '../decode/parse-values.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { Ask } from './position.ts';
import type { BatchOutcome } from './read-outcome.ts';
import type { RawAnswer } from './rest-source.ts';
import type { SocketPayload } from './socket-payload.ts';

/**
 * Frames are joined into answers up to this size. An answer of this size has fewer messages than an answer
 * may have.
 */
const ANSWER_BYTES_MAX = 4 * MEBIBYTE;
/**
 * A subscription cannot start at the oldest message, so it starts at a time before all messages. It is not 0,
 * because servers may treat 0 as absent.
 */
const OLDEST_MS = 1;
const REASON_CHARACTERS_MAX = 200;

/**
 * The start of a subscription as members of its payload. Offsets are text, so that they keep their digits.
 */
export function placeOf(ask: Ask): { offset: string } | { timestamp: number } {
  switch (ask.kind) {
    case 'offset':
      return { offset: String(ask.offset) };
    case 'timestamp':
      return { timestamp: ask.timestampMs };
    case 'oldest':
      return { timestamp: OLDEST_MS };
    default:
      return ask satisfies never;
  }
}

/**
 * The number of frames, from the first one on, that can form one answer: a sequence of CBOR, or lines of
 * JSON.
 */
export function countTogether(frames: readonly SocketPayload[]): number {
  let bytes = frames[0]?.bytes.length ?? 0;
  let count = Math.min(1, frames.length);
  for (; count < Math.min(frames.length, limits.messagesPerReadMax); count++) {
    const { kind, bytes: next } = frames[count]!;
    bytes += next.length;
    if (kind === 'alone' || kind !== frames[0]!.kind || bytes > ANSWER_BYTES_MAX) break;
  }
  return count;
}

/** The answer of these frames. Its buffer is not shared and may be transferred to another thread. */
export function answerOf(frames: readonly SocketPayload[]): RawAnswer {
  const lineEnds = frames[0]?.kind === 'json-line' ? 1 : 0;
  const length = frames.reduce((sum, { bytes }) => sum + bytes.length + lineEnds, 0);
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
  let at = 0;
  for (const frame of frames) {
    bytes.set(frame.bytes, at);
    at += frame.bytes.length;
    if (lineEnds === 1) bytes[at++] = 0x0a;
  }
  return {
    status: 200,
    contentType: '',
    contentEncoding: '',
    bytes,
    nextOffset: undefined,
    upToDate: undefined,
    retryAfterMs: undefined,
    lagMessages: undefined,
    durationMs: 0,
  };
}

/** The start of a subscription, from its answer. */
export type Beginning = Pick<BatchOutcome, 'nextOffset' | 'epoch' | 'clamped'>;

/**
 * The start of a subscription as a frame without messages. It is interpreted with the frames after it. Its
 * position counts only if they name none.
 */
export function beginningFrame(
  { nextOffset, epoch, clamped }: Beginning,
  before?: SocketPayload,
): SocketPayload {
  const body = {
    messages: [],
    ...(before === undefined && nextOffset !== undefined && { nextOffset: String(nextOffset) }),
    ...(epoch !== undefined && { epoch }),
    ...(clamped !== undefined && { clamped }),
  };
  return before?.kind === 'cbor'
    ? { kind: 'cbor', bytes: encodeCbor(body) }
    : { kind: 'json-line', bytes: Buffer.from(JSON.stringify(body)) };
}

/** The reason of a server for ending a subscription, in a few words. */
export function reasonOf(payload: unknown): string {
  const reason = isMap(payload) ? (payload.reason ?? payload.message ?? payload.error) : payload;
  return typeof reason === 'string' && reason !== ''
    ? reason.slice(0, REASON_CHARACTERS_MAX)
    : 'the server has ended the subscription without a reason';
}

/** True if another token may help. */
export function isAboutToken(...words: string[]): boolean {
  return words.some((text) => /token|jwt|unauthori[sz]ed|authentication|session.?expired/i.test(text));
}

/** True if a frame may be an error. It must be interpreted alone, because an error ends the subscription. */
export function mayBeError({ bytes }: SocketPayload): boolean {
  return bytes.length < 4_096 && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes('error');
}
