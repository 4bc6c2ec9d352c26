import type { PlainError } from '../lib/plain-error.ts';
import type { Assignment } from './assignment.ts';
import type { OperationName } from './operations.ts';

/** Messages to the pipeline's thread. Each request gets one answer. */
export type ThreadRequest = { id: number } & (
  | { kind: 'open'; assignment: Assignment }
  | { kind: 'prepare'; assignment: Assignment }
  /** The workgroup will not be opened here. */
  | { kind: 'discard'; workgroupId: string }
  | { kind: 'run'; workgroupId: string; operation: OperationName; args: unknown }
  /** Asks an earlier call to end early, if it can. */
  | { kind: 'abort'; callId: number }
  | { kind: 'close'; workgroupId: string }
  /** Closes all shards. The thread ends after the answer. */
  | { kind: 'end' }
);
export type ThreadReply = { id: number } & ({ result: unknown } | { error: PlainError });
