import type { Interpreter } from '../client/interpret.ts';
import type { RestSource } from '../client/rest-source.ts';
import { instantAt } from '../decode/message-columns.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';

/** The messages that an upstream still has from a time on. */
export interface Availability {
  /**
   * all: all messages. part: only messages from `firstMs` on. nothing: no message. unknown: messages from
   * `firstMs` on, and the upstream does not say if there were earlier ones.
   */
  kind: 'all' | 'part' | 'nothing' | 'unknown';
  /** Store time of its first message. */
  firstMs: UtcMs | undefined;
  /** The number of messages, if the upstream reports it. */
  messages: number | undefined;
}

/**
 * Reads one message, to find out which messages an upstream still has from `fromMs` on. A server of the
 * contract reports if it moved the time to its oldest message. With other servers only a message from before
 * `fromMs` proves that nothing is missing.
 * @throws TransientError, TerminalError if it cannot be read
 */
export async function askAvailability(
  source: RestSource,
  interpret: Interpreter,
  fromMs: UtcMs,
  signal: AbortSignal,
): Promise<Availability> {
  const ask = { kind: 'timestamp', timestampMs: fromMs } as const;
  const answer = await source.fetch({ ask, messagesMax: 1, waitSeconds: 0, signal }).catch(unreachable);
  const outcome = interpret(answer);
  if (outcome.kind === 'error') {
    const { code, message, retryable } = outcome;
    const text = `the upstream cannot be read: ${message}`;
    throw retryable ? new TransientError(code, text) : new TerminalError(code, text);
  }
  const { columns, clamped, earliestOffset } = outcome;
  const firstMs = columns.count > 0 ? instantAt(columns.storeTime, 0) : undefined;
  const messages =
    answer.lagMessages === undefined
      ? undefined
      : answer.lagMessages + columns.count + columns.rejected.length;
  const isOfContract = earliestOffset !== undefined;
  if ((isOfContract && clamped !== 'retention') || (firstMs !== undefined && firstMs <= fromMs)) {
    return { kind: 'all', firstMs, messages };
  }
  if (firstMs === undefined) return { kind: 'nothing', firstMs, messages };
  return { kind: isOfContract ? 'part' : 'unknown', firstMs, messages };
}

function unreachable(error: unknown): never {
  if (!(error instanceof TransientError)) throw error;
  const next =
    'start it (for the own stream "wattline up" or "wattline stream"), then run this command again';
  throw new TransientError(error.code, `the upstream cannot be reached: ${error.message}; ${next}`, {
    cause: error,
  });
}
