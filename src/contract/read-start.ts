import type { UtcMs } from '../lib/time.ts';
import type { Offset } from './offset.ts';

/** Where a read starts. `newest` is after all messages that are stored now. */
export type ReadStart =
  | { kind: 'oldest' }
  | { kind: 'newest' }
  | { kind: 'offset'; offset: Offset }
  | { kind: 'timestamp'; timestampMs: UtcMs };
