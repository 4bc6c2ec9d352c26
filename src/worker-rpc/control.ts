import type { OwnerOutcome } from '../http/answer-of-owner.ts';
import { errorCode, TerminalError, TransientError } from '../lib/errors.ts';
import { request } from '../lib/node-http.ts';
import { fromPlainError } from '../lib/plain-error.ts';
import { describeProcess, processFacts } from '../lib/process-facts.ts';
import { MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { Operations } from '../pipeline/operations.ts';
import type { AskableName } from '../pipeline/remote-operations.ts';
import { type ControlFile, readControlFile, readWorkerFiles } from './control-file.ts';
import { NOTHING_DONE } from './remote-wire.ts';
import { readRpcReply } from './rpc-http.ts';
import {
  type AsJson,
  answerText,
  CONTROL_HEADER,
  CONTROL_HOST,
  HIBERNATED,
  PING,
  WAKE_HEADER,
} from './rpc-wire.ts';

/**
 * Calls operations in the process that has a workgroup's warehouse open, because only one process can open a
 * DuckDB file.
 */
export interface Control {
  /**
   * Opens a workgroup that hibernates.
   * @param options.wake false: a workgroup that hibernates stays closed, and counts as not running
   * @param options.withinMs how long to wait for the answer. Default: a minute. The operation continues after
   *   that
   * @throws the reason of the signal if it aborts
   */
  ask<Name extends AskableName>(
    workgroupId: string,
    operation: Name,
    args: Operations[Name]['args'],
    options?: { signal?: AbortSignal; withinMs?: number; wake?: boolean },
  ): Promise<OwnerOutcome<AsJson<Operations[Name]['result']>>>;
  /** True if a process answers that has the warehouse open, or can open it. */
  reaches(workgroupId: string): Promise<boolean>;
}

/** In the details of an error: the operation was not sent to the process, so another one can be asked. */
const NOT_SENT = { isNotSent: true } as const;
const REACH_MS = 2 * SECOND_MS;

/** @param dataDir the folder of the owner */
export function createControl(dataDir: string): Control {
  return {
    async ask(workgroupId, operation, args, { signal, withinMs = MINUTE_MS, wake = true } = {}) {
      const path = `/${workgroupId}/${operation}`;
      const question = { body: answerText({ args }), signal, withinMs, wake };
      for (let owner = readControlFile(dataDir, workgroupId); owner; ) {
        const reply = await postRpc(owner, path, question);
        if (reply.kind !== 'nobody') return reply as OwnerOutcome<never>;
        // Between reading the file and asking, another process may have opened the warehouse.
        const newer = readControlFile(dataDir, workgroupId);
        owner = newer?.secret === owner.secret ? undefined : newer;
      }
      for (const worker of readWorkerFiles(dataDir)) {
        const reply = await postRpc(worker, path, question);
        if (reply.kind !== 'nobody') return reply as OwnerOutcome<never>;
      }
      return { kind: 'not-running' };
    },
    async reaches(workgroupId) {
      const owner = readControlFile(dataDir, workgroupId);
      const question = { body: answerText({}), signal: undefined, withinMs: REACH_MS };
      for (const address of [...(owner ? [owner] : []), ...readWorkerFiles(dataDir)])
        if ((await postRpc(address, `/${workgroupId}/${PING}`, question)).kind === 'answer') return true;
      return false;
    },
  };
}

/** True if an operation that failed has surely changed nothing, so another process can be asked. */
export function hasDoneNothing(error: Error): boolean {
  if (!(error instanceof TransientError || error instanceof TerminalError)) return false;
  return NOTHING_DONE.has(error.code) || error.details.isNotSent === true;
}

interface Question {
  body: string;
  signal: AbortSignal | undefined;
  withinMs: number;
  /** Default: true. */
  wake?: boolean;
}

type RpcReply = Exclude<OwnerOutcome<unknown>, { kind: 'not-running' }> | { kind: 'nobody' };

/** Sends a request to a process of this machine. `nobody`: the process has ended. */
export async function postRpc(owner: ControlFile, path: string, question: Question): Promise<RpcReply> {
  const { signal, withinMs } = question;
  signal?.throwIfAborted();
  if (!isAlive(owner.pid)) return { kind: 'nobody' };
  if (processFacts(owner.pid)?.isStopped) {
    const message = `the data are held by ${describeProcess(owner.pid)}`;
    return { kind: 'failed', error: new TransientError('NoAnswer', message, { details: NOT_SENT }) };
  }
  const late = AbortSignal.timeout(withinMs);
  try {
    return await sendRequest(owner, path, question, signal ? AbortSignal.any([signal, late]) : late);
  } catch (error) {
    signal?.throwIfAborted();
    if (errorCode(error) === 'ECONNREFUSED') return { kind: 'nobody' };
    const message = late.aborted
      ? `process ${owner.pid}, which has the warehouse open, has not answered within ${withinMs / 1000} s`
      : `process ${owner.pid}, which had the warehouse open, ended before it answered`;
    return { kind: 'failed', error: new TransientError('NoAnswer', message, { cause: error }) };
  }
}

function sendRequest(
  { port, secret }: ControlFile,
  path: string,
  { body, wake = true }: Question,
  signal: AbortSignal,
): Promise<RpcReply> {
  const { promise, resolve, reject } = Promise.withResolvers<RpcReply>();
  const headers = {
    Authorization: `Bearer ${secret}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...(!wake && { [WAKE_HEADER]: 'no' }),
  };
  const call = request({ host: CONTROL_HOST, port, path, method: 'POST', headers, signal, agent: false });
  call.once('error', reject);
  call.once('response', async (response) => {
    try {
      if (response.headers[CONTROL_HEADER] === undefined || response.statusCode === 401) {
        response.destroy();
        return resolve({ kind: 'nobody' });
      }
      const reply = await readRpcReply(response);
      if (reply.error?.code === HIBERNATED.code) resolve({ kind: 'nobody' });
      else if (reply.error) resolve({ kind: 'failed', error: fromPlainError(reply.error) });
      else resolve({ kind: 'answer', answer: reply.result });
    } catch (error) {
      reject(error);
    }
  });
  call.end(body);
  return promise;
}

/** A process of another user is alive too, but its file could not be read. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
