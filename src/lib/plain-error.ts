import { InputError, type Problem, StaleOwnerError, TerminalError, TransientError } from './errors.ts';

/** An error as plain values, because classes do not survive between threads. */
export interface PlainError {
  type: 'transient' | 'terminal' | 'input' | 'stale-owner' | 'other';
  code: string;
  message: string;
  details: Record<string, unknown>;
  stack: string | undefined;
}

export function toPlainError(error: unknown): PlainError {
  if (error instanceof TransientError || error instanceof TerminalError) {
    const { code, message, details, stack } = error;
    return { type: typeOf(error), code, message, details: cloneable(details), stack };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { type: 'other', code: 'Unexpected', message, details: {}, stack };
}

function typeOf(error: TransientError | TerminalError): PlainError['type'] {
  if (error instanceof StaleOwnerError) return 'stale-owner';
  if (error instanceof InputError) return 'input';
  return error instanceof TransientError ? 'transient' : 'terminal';
}

/** Values that cannot be copied to another thread become text. Otherwise the thread would end. */
function cloneable(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return structuredClone(details);
  } catch {
    return Object.fromEntries(Object.entries(details).map(([key, value]) => [key, String(value)]));
  }
}

export function fromPlainError(plain: PlainError): Error {
  const error = classed(plain);
  if (plain.stack !== undefined) error.stack = plain.stack;
  return error;
}

function classed({ type, code, message, details }: PlainError): Error {
  switch (type) {
    case 'stale-owner': {
      const { workgroupId, ownEpoch, currentEpoch } = details;
      return new StaleOwnerError(String(workgroupId), BigInt(String(ownEpoch)), BigInt(String(currentEpoch)));
    }
    case 'input':
      return new InputError(String(details.what), details.problems as Problem[]);
    case 'terminal':
      return new TerminalError(code, message, { details });
    case 'transient':
    case 'other':
      return new TransientError(code, message, { details });
    default:
      return type satisfies never;
  }
}
