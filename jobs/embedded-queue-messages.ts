import type { PlainError } from '../src/lib/plain-error.ts';
import type { JobOutcome, StoredSchedule } from './job-queue.ts';
import type { Job, JobSchedule } from './stages.ts';

/** The requests to the process of the embedded queue. */
export type QueueRequest =
  | { kind: 'schedules' }
  | { kind: 'schedule'; row: JobSchedule }
  | { kind: 'unschedule'; key: string }
  | { kind: 'consume' }
  | { kind: 'tidy' }
  | { kind: 'close' };

/** Messages to the process of the embedded queue. */
export type MessageToQueue =
  | { kind: 'request'; id: number; request: QueueRequest }
  /** The answer to a job. */
  | { kind: 'outcome'; jobId: number; outcome: JobOutcome }
  | { kind: 'job-failed'; jobId: number; error: PlainError };

/** Messages from the process of the embedded queue. */
export type MessageFromQueue =
  | { kind: 'opened' }
  | { kind: 'not-opened'; error: PlainError }
  | { kind: 'result'; id: number; result?: StoredSchedule[] }
  | { kind: 'error'; id: number; error: PlainError }
  | { kind: 'job'; jobId: number; job: Job }
  /** A log event, as one line of JSON. */
  | { kind: 'log'; line: string };
