import { StaleOwnerError, TerminalError, TransientError } from '../errors.ts';
import type { Assignment, OperationName } from './operations.ts';

/** What goes to the pipeline's thread. Every request is answered once. */
export type ThreadRequest = { id: number } & (
  | { kind: 'open'; assignment: Assignment }
  | { kind: 'run'; workgroupId: string; operation: OperationName; args: unknown }
  /** Asks a call that was made before to end early, where it can. */
  | { kind: 'abort'; callId: number }
  | { kind: 'close'; workgroupId: string }
  /** Closes every shard; the thread ends after the answer. */
  | { kind: 'end' }
);
export type ThreadReply = { id: number } & ({ result: unknown } | { error: PlainError });

/** An error as plain values, because its class does not survive the way between threads. */
export interface PlainError {
  type: 'transient' | 'terminal' | 'stale-owner' | 'other';
  code: string;
  message: string;
  details: Record<string, unknown>;
  stack: string | undefined;
}

export function toPlainError(error: unknown): PlainError {
  if (error instanceof TransientError || error instanceof TerminalError) {
    const { code, message, details, stack } = error;
    const type =
      error instanceof StaleOwnerError
        ? 'stale-owner'
        : error instanceof TransientError
          ? 'transient'
          : 'terminal';
    return { type, code, message, details: cloneable(details), stack };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { type: 'other', code: 'Unexpected', message, details: {}, stack };
}

/** What cannot be copied to another thread is told as text: an error that cannot be told would end the thread. */
function cloneable(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return structuredClone(details);
  } catch {
    return Object.fromEntries(Object.entries(details).map(([key, value]) => [key, String(value)]));
  }
}

export function fromPlainError({ type, code, message, details, stack }: PlainError): Error {
  const error =
    type === 'stale-owner'
      ? new StaleOwnerError(
          String(details.workgroupId),
          BigInt(String(details.ownEpoch)),
          BigInt(String(details.currentEpoch)),
        )
      : type === 'terminal'
        ? new TerminalError(code, message, { details })
        : new TransientError(code, message, { details });
  if (stack !== undefined) error.stack = stack;
  return error;
}
