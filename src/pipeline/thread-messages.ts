import type { PlainError } from '../lib/plain-error.ts';
import type { Assignment } from './assignment.ts';
import type { OperationName } from './operations.ts';

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
