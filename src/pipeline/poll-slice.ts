import { type Ask, giveUpError } from '../client/position.ts';
import type { RawAnswer } from '../client/rest-source.ts';
import type { StreamSource } from '../client/stream-source.ts';
import { limits } from '../contract/wire-limits.ts';
import { TransientError } from '../lib/errors.ts';
import { toPlainError } from '../lib/plain-error.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import { isBatchFailure } from './failing-batch.ts';
import type { LandReply } from './live-reader.ts';
import type { Pipeline } from './pipeline.ts';

export interface PollOptions {
  pipeline: Pick<Pipeline, 'run'>;
  source: StreamSource;
  workgroupId: string;
  signal: AbortSignal;
  /** How long the server may wait for a next message at the head. */
  waitSeconds: number;
  /** Called after every landed read. A slice over a socket stays at the head. */
  onProgress?: (result: PollResult) => void;
  /** Called once for each read that has landed, even if a later one fails. */
  onDelivered?: (reply: Delivered) => void;
}

/** A read that has landed. */
type Delivered = LandReply & { kind: 'delivered' };

/** The result of a slice. */
export interface PollResult {
  messages: number;
  quarantined: number;
  /** True if the head was reached, false if the time of the slice was over. */
  upToDate: boolean;
  /** Store time of the newest landed message. */
  lastStoreTimeMs: UtcMs | undefined;
  nextOffset: bigint | undefined;
  /** Messages that are not read yet, if the server reports their number. */
  lagMessages: number | undefined;
}

/** A slice ends after this time. The next one follows at once. */
const SLICE_MS = 20 * SECOND_MS;
/**
 * Answers that are landed while the next one is read: two are being committed, and two are decoded and wait.
 * With fewer answers the thread is sometimes idle.
 */
const IN_FLIGHT_MAX = 4;
/** Enough to reduce a batch to one message and to set it aside. */
const BATCH_FAILURES_MAX = 20;

/**
 * Reads the stream from the checkpoint to its head and lands the messages. The next answer is fetched while
 * this one is landed. Over a socket the slice stays at the head, so that a message does not wait for the next
 * run.
 * @throws TransientError if the upstream cannot be read now, TerminalError if a person has to change
 *   something
 */
export async function pollSlice(options: PollOptions): Promise<PollResult> {
  const untilMs = performance.now() + SLICE_MS;
  const result: PollResult = {
    messages: 0,
    quarantined: 0,
    upToDate: false,
    lastStoreTimeMs: undefined,
    nextOffset: undefined,
    lagMessages: undefined,
  };
  for (let failures = 0; isGoingOn(options, result, untilMs); ) {
    try {
      await readToHead(options, result, untilMs);
    } catch (error) {
      failures += 1;
      const mayBeBatch = !options.signal.aborted && isBatchFailure(toPlainError(error).code);
      if (!mayBeBatch || failures > BATCH_FAILURES_MAX) throw error;
    }
  }
  return result;
}

/**
 * Reads to the head, or until the time is over. If the size of batches is reduced, it reads only one batch,
 * because the size can grow after each.
 */
async function readToHead(options: PollOptions, result: PollResult, untilMs: number): Promise<void> {
  const { pipeline, source, workgroupId, signal, waitSeconds, onProgress } = options;
  const start = await pipeline.run(workgroupId, 'position', undefined);
  const { messagesMax } = start;
  const isShrunk = messagesMax < limits.messagesPerReadMax;
  let { ask } = start;
  const inFlight: Promise<LandReply>[] = [];
  try {
    while (isGoingOn(options, result, untilMs)) {
      signal.throwIfAborted();
      const answer = await source.fetch({ ask, messagesMax, waitSeconds, signal });
      const next = isShrunk || answer === undefined ? undefined : announcedNext(answer);
      result.lagMessages = answer?.lagMessages;
      if (answer) inFlight.push(startLanding(pipeline, workgroupId, ask, answer));
      if (next !== undefined && inFlight.length < IN_FLIGHT_MAX) {
        ask = next;
        continue;
      }
      const replies = await Promise.all(inFlight.splice(0, next === undefined ? IN_FLIGHT_MAX : 1));
      for (const reply of replies) addReply(options, result, reply);
      const last = replies.at(-1);
      if (last) ask = next ?? nextAsk(last);
      if (answer === undefined) result.upToDate = true;
      else if (next === undefined && last?.kind === 'delivered') source.noteLanded?.(ask);
      onProgress?.(result);
      if (isShrunk) return;
    }
  } finally {
    const landed = (await Promise.allSettled(inFlight)).filter((reply) => reply.status === 'fulfilled');
    for (const { value } of landed) addReply(options, result, value);
    // Landed messages are rolled up, even if the read after them has failed.
    if (landed.length > 0) onProgress?.(result);
  }
}

function isGoingOn({ source }: PollOptions, { upToDate }: PollResult, untilMs: number): boolean {
  return (!upToDate || source.transport === 'socket') && performance.now() < untilMs;
}

function startLanding(
  pipeline: Pick<Pipeline, 'run'>,
  workgroupId: string,
  ask: Ask,
  answer: RawAnswer,
): Promise<LandReply> {
  const landing = pipeline.run(workgroupId, 'land', { ask, answer }, [answer.bytes.buffer]);
  // An error is thrown where the reply is awaited. That may be after the next answer, and until then the
  // error must not count as unhandled.
  landing.catch(() => undefined);
  return landing;
}

/**
 * The position of the next read, if headers of the answer name it and say that more messages follow. Our own
 * server sends these headers. Undefined if the answer must be decoded first.
 */
function announcedNext({ status, nextOffset, upToDate }: RawAnswer): Ask | undefined {
  if (status !== 200 || upToDate !== false || nextOffset === undefined || !/^\d{1,20}$/.test(nextOffset))
    return undefined;
  return { kind: 'offset', offset: BigInt(nextOffset) };
}

/** Adds what a reply has landed to the result. */
function addReply({ onDelivered }: PollOptions, result: PollResult, reply: LandReply): void {
  if (reply.kind !== 'delivered') return;
  onDelivered?.(reply);
  result.messages += reply.messages;
  result.quarantined += reply.quarantined;
  result.upToDate = reply.upToDate;
  result.lastStoreTimeMs = reply.position.lastStoreTimeMs;
  if (reply.position.ask.kind === 'offset') result.nextOffset = reply.position.ask.offset;
}

function nextAsk(reply: LandReply): Ask {
  switch (reply.kind) {
    case 'delivered':
    case 'restart':
    case 'old-position':
      return reply.position.ask;
    case 'again':
      throw new TransientError('UpstreamFailed', reply.because, {
        details: { retryAfterMs: reply.retryAfterMs },
      });
    case 'fail':
      throw giveUpError(reply);
    default:
      return reply satisfies never;
  }
}
