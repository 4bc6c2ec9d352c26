import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessTokens } from '../access/process-token.ts';
import type { OwnerOutcome } from '../http/answer-of-owner.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { hostOf } from '../lib/machine-name.ts';
import { MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { AskableName } from '../pipeline/remote-operations.ts';
import type { WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import type { Control } from './control.ts';
import type { FoundOwner, OwnerDirectory, WorkerAddress } from './owner-directory.ts';
import { FILE_OPERATIONS, isChanging } from './remote-wire.ts';
import { answerText, PING } from './rpc-wire.ts';
import { type CallReply, type RemoteCall, sendCall } from './send-call.ts';

interface RemoteControlOptions {
  directory: OwnerDirectory;
  tokens: Pick<ProcessTokens, 'sign'>;
  /** The machine of this process, see `machineName`. */
  machine: string;
  /**
   * How long to wait until another worker has taken the workgroup of a worker that has ended. Default: 20 s,
   * which is longer than a lease.
   */
  takeoverMs?: number;
}

/** A worker that has a workgroup, or can open it, and its facts about the workgroup. */
export interface LocatedWork {
  /** The name of its machine. */
  machine: string;
  /** Undefined if the worker has never opened the workgroup. */
  status: WorkgroupStatus | undefined;
}

export interface RemoteControl extends Control {
  /** Finds the worker that has a workgroup, or the last one that had it. Undefined if no worker answers. */
  locate(workgroupId: string): Promise<LocatedWork | undefined>;
  /**
   * True if a worker has the workgroup, or lives and can take it. Asks only Redis.
   * @throws TransientError if it cannot be reached
   */
  isServed(workgroupId: string): Promise<boolean>;
}

const REACH_MS = 2 * SECOND_MS;
const TAKEOVER_MS = 20 * SECOND_MS;
const LOOK_EVERY_MS = 250;
/**
 * A worker that is stopped accepts calls and does not answer. Its lease shows that it has lost the workgroup.
 */
const WATCH_EVERY_MS = 2 * SECOND_MS;

/**
 * Calls operations in the worker that has a workgroup open, on any machine. If the worker has lost the
 * workgroup and has done nothing, the next owner is asked. An operation that changes something is never sent
 * again after a worker has received its arguments.
 */
export function createRemoteControl(options: RemoteControlOptions): RemoteControl {
  const { directory, tokens, machine, takeoverMs = TAKEOVER_MS } = options;

  async function callOwner(workgroupId: string, call: RemoteCall, signal: AbortSignal): Promise<CallReply> {
    const giveUpAt = performance.now() + takeoverMs;
    for (;;) {
      const lookup = await directory.find(workgroupId);
      const workers = workersOf(lookup);
      if (lookup.kind === 'free' && workers.length === 0) return { kind: 'not-here' };
      let hibernates = false;
      for (const worker of workers) {
        if (FILE_OPERATIONS[call.operation as AskableName] === 'shared' && worker.machine !== machine)
          throw fileElsewhere(workgroupId, worker);
        const reply = await callWatched(worker, call, signal);
        if (reply.kind === 'hibernates') hibernates = true;
        else if (reply.kind === 'unknown' && isChanging(call.operation as AskableName))
          throw unknownOutcome(worker, call, reply.cause);
        else if (reply.kind === 'answer' || reply.kind === 'failed') return reply;
      }
      if (hibernates) return { kind: 'hibernates' };
      if (performance.now() > giveUpAt) throw nobodyAnswers(workgroupId, lookup);
      await sleep(LOOK_EVERY_MS, undefined, { signal });
    }
  }

  /** Waits for the answer, but no longer than until another worker has the workgroup. */
  async function callWatched(
    worker: WorkerAddress,
    call: RemoteCall,
    signal: AbortSignal,
  ): Promise<CallReply> {
    const moved = new AbortController();
    const watching = setInterval(async () => {
      const lookup = await directory.find(call.workgroupId).catch(() => undefined);
      if (lookup?.kind === 'owner' && lookup.owner.workerId !== worker.workerId)
        moved.abort(new Error('another worker has the workgroup now'));
    }, WATCH_EVERY_MS);
    try {
      return await sendCall(worker, call, tokens, AbortSignal.any([signal, moved.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (moved.signal.aborted) return { kind: 'not-here' };
      throw error;
    } finally {
      clearInterval(watching);
    }
  }

  /** The workers that have the workgroup or can open it, one after another. */
  async function* reachable(workgroupId: string): AsyncGenerator<LocatedWork> {
    const call = { workgroupId, operation: PING, body: answerText({}), wake: false };
    try {
      for (const worker of workersOf(await directory.find(workgroupId))) {
        const reply = await sendCall(worker, call, tokens, AbortSignal.timeout(REACH_MS)).catch(
          () => undefined,
        );
        if (reply?.kind === 'answer')
          yield { machine: hostOf(worker.machine), status: statusOf(workgroupId, reply.answer) };
      }
    } catch {
      // Redis cannot be reached.
    }
  }

  return {
    async ask(workgroupId, operation, args, { signal, withinMs = MINUTE_MS, wake = true } = {}) {
      signal?.throwIfAborted();
      const late = AbortSignal.timeout(withinMs);
      const path = FILE_OPERATIONS[operation] === 'sent' ? (args as { path: string }).path : undefined;
      const call = { workgroupId, operation, body: answerText({ args }), path, wake };
      try {
        const reply = await callOwner(workgroupId, call, signal ? AbortSignal.any([signal, late]) : late);
        return (
          reply.kind === 'answer' || reply.kind === 'failed' ? reply : { kind: 'not-running' }
        ) as OwnerOutcome<never>;
      } catch (error) {
        signal?.throwIfAborted();
        return {
          kind: 'failed',
          error: late.aborted ? tooLate(workgroupId, withinMs, error) : asError(error),
        };
      }
    },
    async reaches(workgroupId) {
      for await (const _work of reachable(workgroupId)) return true;
      return false;
    },
    async locate(workgroupId) {
      let newest: LocatedWork | undefined;
      for await (const work of reachable(workgroupId))
        if (!newest || updatedAtMs(work) > updatedAtMs(newest)) newest = work;
      return newest;
    },
    async isServed(workgroupId) {
      const lookup = await directory.find(workgroupId);
      return lookup.kind !== 'free' || lookup.workers.length > 0;
    },
  };
}

/** A worker of an older version answers without a status. */
function statusOf(workgroupId: string, answer: unknown): WorkgroupStatus | undefined {
  const status = answer as WorkgroupStatus | null | undefined;
  return status?.workgroupId === workgroupId && Number.isFinite(status.updatedAtMs) ? status : undefined;
}

function updatedAtMs({ status }: LocatedWork): UtcMs {
  return status?.updatedAtMs ?? 0;
}

function workersOf(lookup: FoundOwner): WorkerAddress[] {
  switch (lookup.kind) {
    case 'owner':
      return [lookup.owner];
    case 'free':
      return lookup.workers;
    case 'unknown':
      return [];
    default:
      return lookup satisfies never;
  }
}

function fileElsewhere(workgroupId: string, { host }: WorkerAddress): TerminalError {
  return new TerminalError(
    'FileElsewhere',
    `the worker that has ${workgroupId} open runs on another machine (${host}), which does not have the file; copy the file there, and run the same command there`,
  );
}

function unknownOutcome(worker: WorkerAddress, { operation }: RemoteCall, cause: unknown): TransientError {
  return new TransientError(
    'NoAnswer',
    `the worker at ${worker.host}:${worker.port} received "${operation}" and did not answer, so it is not known whether it was done; send the same request again, because nothing is done twice`,
    { cause },
  );
}

function nobodyAnswers(workgroupId: string, lookup: FoundOwner): TransientError {
  const where = workersOf(lookup)
    .map(({ host, port }) => `${host}:${port}`)
    .join(', ');
  return new TransientError(
    'NoAnswer',
    where
      ? `no worker answers for ${workgroupId} (asked: ${where}); check that these addresses can be reached from here, and try again`
      : `a worker has ${workgroupId}, but its address is not in Redis yet; try again`,
  );
}

function tooLate(workgroupId: string, withinMs: number, error: unknown): TransientError {
  const known = error instanceof TransientError ? `: ${error.message}` : '';
  return new TransientError(
    'NoAnswer',
    `no worker has answered for ${workgroupId} within ${withinMs / SECOND_MS} s${known}`,
    { cause: error },
  );
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
