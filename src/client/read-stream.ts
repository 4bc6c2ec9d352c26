import type { MessageColumns, NameTable } from '../decode/message-columns.ts';
import { createNameTable } from '../decode/name-table.ts';
import { elapsedOf } from '../lib/time.ts';
import { advancePosition } from './advance.ts';
import { type Backoff, backoffMs, defaultBackoff, systemWaiting, type Waiting } from './backoff.ts';
import { createInterpreter, failureOutcome, type Interpreter } from './interpret.ts';
import { keepNew } from './keep-new.ts';
import {
  type AgainStep,
  type Ask,
  type AttemptBounds,
  defaultBounds,
  giveUpError,
  type Position,
  type RestartStep,
  startPosition,
} from './position.ts';
import type { Gap, ReadOutcome } from './read-outcome.ts';
import type { StreamSource } from './stream-source.ts';

/** New messages, and the position after them. */
export interface StreamBatch {
  /** Valid until the next batch is requested. `columnsToMessages` makes objects of them. */
  columns: MessageColumns;
  names: NameTable;
  /** Store this when the messages are safe, and start from it again. */
  position: Position;
  upToDate: boolean;
  /** The gap before these messages, if there is one. */
  gap: Gap | undefined;
  duplicates: number;
  beyond: number;
  outOfOrder: number;
}

export interface ReadStreamOptions {
  /** The start: a position of an earlier batch, or another start. Default: the oldest message. */
  from?: Position | Ask;
  signal?: AbortSignal;
  /** True to end at the head of the stream instead of waiting. */
  untilUpToDate?: boolean;
  names?: NameTable;
  /** The table of messages that name no table. */
  defaultTable?: string;
  messagesMax?: number;
  waitSeconds?: number;
  /** At the head of the stream, read this often if the server does not wait by itself. Default: a second. */
  pollEveryMs?: number;
  waiting?: Waiting;
  backoff?: Backoff;
  bounds?: AttemptBounds;
  /** Called for each read that must be repeated, from the same or another position. */
  onSetback?: (step: AgainStep | RestartStep) => void;
}

/**
 * Reads a stream without end: every message once and in order, from any server, through failures, renewed
 * tokens and recreated logs. Lost messages are reported in the next batch's `gap`. Ends without an error when
 * the signal aborts.
 * @throws TransientError after too many failures in a row; TerminalError if a repetition cannot help
 */
export async function* readStream(
  source: StreamSource,
  options: ReadStreamOptions = {},
): AsyncGenerator<StreamBatch, void, undefined> {
  const { waiting = systemWaiting, backoff = defaultBackoff, bounds = defaultBounds, signal } = options;
  const names = options.names ?? createNameTable();
  const interpret = createInterpreter(names, { defaultTable: options.defaultTable });
  let position = positionFrom(options.from);
  try {
    while (!signal?.aborted) {
      const askedAtMs = elapsedOf(waiting.clock);
      const outcome = await readOnce(source, position.ask, options, interpret);
      if (outcome === 'quiet') {
        if (options.untilUpToDate) return;
        continue;
      }
      const step = advancePosition(position, outcome, bounds);
      if (step.kind === 'fail') throw giveUpError(step);
      const from = position;
      position = step.position;
      if (step.kind !== 'deliver') {
        options.onSetback?.(step);
        if (step.kind === 'again') {
          await waiting.sleep(backoffMs(step.attempt, waiting.random, backoff, step.retryAfterMs), signal);
        }
        continue;
      }
      if (step.messages > 0 || step.gap || hasMoved(from, position)) {
        const { columns, upToDate, gap, duplicates, beyond, outOfOrder } = step;
        keepNew(columns, step.keep);
        yield { columns, names, position, upToDate, gap, duplicates, beyond, outOfOrder };
      }
      source.noteLanded?.(position.ask);
      if (step.upToDate) {
        if (options.untilUpToDate) return;
        if (source.transport === 'socket') continue;
        const restMs = (options.pollEveryMs ?? 1_000) - (elapsedOf(waiting.clock) - askedAtMs);
        if (restMs > 0) await waiting.sleep(restMs, signal);
      }
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
}

async function readOnce(
  source: StreamSource,
  ask: Ask,
  { messagesMax, waitSeconds, signal }: ReadStreamOptions,
  interpret: Interpreter,
): Promise<ReadOutcome | 'quiet'> {
  try {
    const answer = await source.fetch({
      ask,
      ...(messagesMax !== undefined && { messagesMax }),
      ...(waitSeconds !== undefined && { waitSeconds }),
      signal,
    });
    if (answer === undefined) return 'quiet';
    const outcome = interpret(answer);
    source.recycle?.(answer.bytes.buffer);
    return outcome;
  } catch (error) {
    signal?.throwIfAborted();
    return failureOutcome(error);
  }
}

function positionFrom(from: Position | Ask = { kind: 'oldest' }): Position {
  return 'ask' in from ? from : startPosition(from);
}

function hasMoved(from: Position, to: Position): boolean {
  return to.ask.kind === 'offset' && (from.ask.kind !== 'offset' || from.ask.offset !== to.ask.offset);
}
