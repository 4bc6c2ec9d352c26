import { advancePosition } from '../client/advance.ts';
import type { Interpreter } from '../client/interpret.ts';
import { keepNew } from '../client/keep-new.ts';
import {
  type Ask,
  type DeliverStep,
  type Position,
  type Step,
  sameAsk,
  startPosition,
} from '../client/position.ts';
import type { RawAnswer } from '../client/rest-source.ts';
import { type MessageColumns, offsetAt } from '../decode/message-columns.ts';
import { TransientError } from '../lib/errors.ts';
import { toPlainError } from '../lib/plain-error.ts';
import { LIVE_ORIGIN } from '../warehouse/checkpoint.ts';
import type { LandInput } from '../warehouse/plan-landing.ts';
import type { Shard } from '../warehouse/shard.ts';
import { countEventDelays, type EventDelays } from './event-delays.ts';
import { type FailingBatch, isHopeless, noteBatchFailure, noteBatchSuccess } from './failing-batch.ts';

/** The reader that follows the stream of a warehouse, with its position. */
export interface LiveReader {
  readonly shard: Shard;
  readonly interpret: Interpreter;
  position: Position;
  stuck: FailingBatch | undefined;
}

/** An answer of the upstream, with its request. */
interface Answer {
  ask: Ask;
  answer: RawAnswer;
}

/** The result of a read as plain values, without the messages. */
export type LandReply =
  | {
      kind: 'delivered';
      messages: number;
      quarantined: number;
      position: Position;
      upToDate: boolean;
      /** Undefined if nothing has landed. */
      eventDelays?: EventDelays;
    }
  | Exclude<Step, DeliverStep>
  /**
   * The answer was requested from an earlier position of the reader. Read again from the current position.
   */
  | { kind: 'old-position'; position: Position };

/**
 * Reads one answer of the upstream and lands its new messages. Answers come in the order of their requests.
 * The next answer is decoded while this one is committed. If this one fails to land, the next one is refused,
 * so that no message is skipped.
 */
export async function land(reader: LiveReader, { ask, answer }: Answer): Promise<LandReply> {
  let reply: LandReply | undefined;
  try {
    const landed = await reader.shard.land(() => {
      const understood = understand(reader, ask, answer);
      reply = understood.reply;
      return understood.batch;
    });
    if (landed?.kind === 'out-of-step' || landed?.kind === 'recreated') {
      throw new TransientError(
        'OutOfStep',
        'the warehouse and the reader are at different positions; reading again from the checkpoint',
      );
    }
    if (landed?.kind === 'landed') reader.stuck = noteBatchSuccess(reader.stuck);
    return reply?.kind === 'delivered' && landed?.kind === 'landed'
      ? { ...reply, quarantined: landed.quarantined }
      : reply!;
  } catch (error) {
    reader.stuck = noteBatchFailure(reader.stuck, ask, toPlainError(error).code);
    reader.position = await storedPosition(reader.shard);
    throw error;
  }
}

/** Moves the reader by one answer. @returns the messages to land, if any, and the result after landing */
function understand(
  reader: LiveReader,
  ask: Ask,
  answer: RawAnswer,
): { reply: LandReply; batch: LandInput | undefined } {
  const { position } = reader;
  const nothing = (reply: LandReply) => ({ reply, batch: undefined });
  if (!sameAsk(ask, position.ask)) return nothing({ kind: 'old-position', position });
  const step = advancePosition(position, reader.interpret(answer));
  if (step.kind === 'fail') return nothing(step);
  reader.position = step.position;
  if (step.kind !== 'deliver') return nothing(step);
  const { columns, messages, upToDate, gap } = step;
  const next = step.position.ask;
  const reply: LandReply = { kind: 'delivered', messages, quarantined: 0, position: step.position, upToDate };
  if (next.kind !== 'offset') return nothing(reply);
  const isEmpty = messages === 0 && columns.rejected.length === 0;
  if (isEmpty && !gap && sameAsk(next, ask)) return nothing(reply);
  keepNew(columns, step.keep);
  if (isHopeless(reader.stuck, ask)) quarantineMessage(columns, answer.bytes);
  const batch = {
    origin: LIVE_ORIGIN,
    columns,
    fromOffset: ask.kind === 'offset' ? ask.offset : undefined,
    nextOffset: next.offset,
    logEpoch: step.position.epoch,
    gap,
  };
  return { reply: { ...reply, eventDelays: countEventDelays(columns) }, batch };
}

/** Converts a message that cannot land to a quarantined one: its bytes, with the reason. */
function quarantineMessage(columns: MessageColumns, bytes: Uint8Array): void {
  const offset = columns.count > 0 ? offsetAt(columns, 0) : undefined;
  columns.count = 0;
  columns.rejected = [
    { offset, reason: 'cannot_land', detail: 'the warehouse refused it repeatedly', bytes },
  ];
}

/** Where the live reader of a warehouse continues. */
export async function storedPosition(shard: Shard): Promise<Position> {
  const checkpoint = await shard.checkpoint(LIVE_ORIGIN);
  if (!checkpoint) return startPosition({ kind: 'oldest' });
  const { nextOffset, logEpoch, lastOffset, lastStoreTimeMs } = checkpoint;
  return startPosition(
    { kind: 'offset', offset: nextOffset },
    {
      ...(logEpoch !== undefined && { epoch: logEpoch }),
      ...(lastOffset !== undefined && { lastOffset }),
      ...(lastStoreTimeMs !== undefined && { lastStoreTimeMs }),
    },
  );
}
