import type { Ask } from '../client/position.ts';
import type { RawAnswer } from '../client/rest-source.ts';
import type { StreamSource } from '../client/stream-source.ts';
import { limits } from '../contract/wire-limits.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
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
  /** What the server may wait for a next message at the head. Default a second, so that a trickle is not held back. */
  waitSeconds?: number;
  /** Told of every read, as far as it has landed: a slice that is pushed to stays at the head. */
  onProgress?: (result: PollResult) => void;
}

/** What a slice of polling came to. */
export interface PollResult {
  messages: number;
  quarantined: number;
  /** The head of the stream was reached; else the slice's time was over. */
  upToDate: boolean;
  /** Append time of the newest message that has landed. */
  lastStoreTimeMs: UtcMs | undefined;
  nextOffset: bigint | undefined;
  /** Messages behind the head, where the server says so. */
  lagMessages: number | undefined;
}

/** A slice ends after this even if the stream goes on: the next one follows at once. */
const SLICE_MS = 20 * SECOND_MS;
/** Answers that are being landed while the next is read: two are committed, two wait decoded. Fewer leave the thread idle. */
const IN_FLIGHT_MAX = 4;
/** More than it takes to shrink a batch to one message and to set that aside. */
const BATCH_FAILURES_MAX = 20;

/**
 * Reads the stream from the checkpoint to its head and lands what it reads; the next answer is fetched while this one is landed.
 * Where the source is pushed to, the slice stays at the head, so that a message need not wait for the next tick.
 * @throws TransientError when the upstream cannot be read now, TerminalError when a person has to change something
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
      await readOn(options, result, untilMs);
    } catch (error) {
      failures += 1;
      const mayBeBatch = !options.signal.aborted && isBatchFailure(toPlainError(error).code);
      if (!mayBeBatch || failures > BATCH_FAILURES_MAX) throw error;
    }
  }
  return result;
}

/** Reads to the head or until the time is over; where batches had to shrink, one batch, so that they can grow again. */
async function readOn(options: PollOptions, result: PollResult, untilMs: number): Promise<void> {
  const { pipeline, source, workgroupId, signal, waitSeconds = 1, onProgress } = options;
  const start = await pipeline.run(workgroupId, 'position', undefined);
  const { messagesMax } = start;
  const isShrunk = messagesMax < limits.messagesPerReadMax;
  let { ask } = start;
  const inFlight: Promise<LandReply>[] = [];
  try {
    while (isGoingOn(options, result, untilMs)) {
      signal.throwIfAborted();
      const answer = await source.fetch({
        ask,
        messagesMax,
        waitSeconds: isShrunk ? 0 : waitSeconds,
        signal,
      });
      const next = isShrunk || answer === undefined ? undefined : announcedNext(answer);
      result.lagMessages = answer?.lagMessages;
      if (answer) inFlight.push(land(pipeline, workgroupId, ask, answer));
      if (next !== undefined && inFlight.length < IN_FLIGHT_MAX) {
        ask = next;
        continue;
      }
      const replies = await Promise.all(inFlight.splice(0, next === undefined ? IN_FLIGHT_MAX : 1));
      for (const reply of replies) note(result, reply);
      const last = replies.at(-1);
      if (last) ask = next ?? nextAsk(last);
      if (answer === undefined) result.upToDate = true;
      else if (next === undefined && last?.kind === 'delivered') source.landed?.(ask);
      onProgress?.(result);
      if (isShrunk) return;
    }
  } finally {
    for (const reply of await Promise.allSettled(inFlight))
      if (reply.status === 'fulfilled') note(result, reply.value);
  }
}

function isGoingOn({ source }: PollOptions, { upToDate }: PollResult, untilMs: number): boolean {
  return (!upToDate || source.transport === 'socket') && performance.now() < untilMs;
}

function land(
  pipeline: Pick<Pipeline, 'run'>,
  workgroupId: string,
  ask: Ask,
  answer: RawAnswer,
): Promise<LandReply> {
  const landing = pipeline.run(workgroupId, 'land', { ask, answer }, [answer.bytes.buffer]);
  // Failures are met where the reply is awaited, which may be after the next answer has come.
  landing.catch(() => undefined);
  return landing;
}

/** Where to read on, if the answer says so before it is understood: a full batch of a server of ours. */
function announcedNext({ status, nextOffset, upToDate }: RawAnswer): Ask | undefined {
  if (status !== 200 || upToDate !== false || nextOffset === undefined || !/^\d{1,20}$/.test(nextOffset))
    return undefined;
  return { kind: 'offset', offset: BigInt(nextOffset) };
}

function note(result: PollResult, reply: LandReply): void {
  if (reply.kind !== 'delivered') return;
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
    case 'elsewhere':
      return reply.position.ask;
    case 'again':
      throw new TransientError('UpstreamFailed', reply.because, {
        details: { retryAfterMs: reply.retryAfterMs },
      });
    case 'fail':
      throw reply.retryable
        ? new TransientError(reply.code, reply.message)
        : new TerminalError(reply.code, reply.message);
    default:
      return reply satisfies never;
  }
}
