import { parentPort, workerData } from 'node:worker_threads';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { createLogger } from '../lib/logger.ts';
import { toPlainError } from '../lib/plain-error.ts';
import { systemClock } from '../lib/time.ts';
import type { UnusedClaims } from '../replica/take-over-replica.ts';
import { warehousePath } from './assignment.ts';
import { closeAssignment, openAssignment } from './open-assignment.ts';
import type { OpenShard } from './open-shard.ts';
import { type Handler, isShardOperation, type OperationName, operations } from './operations.ts';
import { createPreparations } from './preparations.ts';
import type { ThreadReply, ThreadRequest } from './thread-messages.ts';
import { watchWarehouseFile } from './watch-warehouse-file.ts';

/**
 * The thread that decodes, lands, rolls up and publishes, so that the main thread stays free for queue locks
 * and HTTP. It owns the DuckDB files of its open shards. Ending a thread during a DuckDB call would abort the
 * process, so it ends only after all shards are closed, also after an uncaught error.
 */
const logger = createLogger({ level: (workerData as { logLevel: string }).logLevel });
/** Checks that the file of a warehouse is still the one that was opened. */
const fileChecks = new Map<string, () => void>();
const shards = new Map<string, Promise<OpenShard>>();
/** The shards that are completely open. */
const opened = new Map<string, OpenShard>();
/** Claims in the bucket that failed attempts to open a shard have made. */
const claims: UnusedClaims = new Map();
const preparations = createPreparations(logger);
const running = new Set<Promise<void>>();
const aborts = new Map<number, AbortController>();
let failure: unknown;

parentPort!.on('message', (request: ThreadRequest) => {
  const answering = answer(request).finally(() => running.delete(answering));
  running.add(answering);
});
process.on('uncaughtException', (error) => void endAfter(error));

async function answer(request: ThreadRequest): Promise<void> {
  let reply: ThreadReply;
  try {
    if (failure !== undefined) throw endingFailure();
    reply = { id: request.id, result: await handle(request) };
  } catch (error) {
    reply = { id: request.id, error: toPlainError(error) };
  }
  parentPort!.postMessage(reply);
  if (request.kind === 'end') parentPort!.close();
}

/** After an error the files are intact: committed data stays, and the next thread reads the rest again. */
async function endAfter(error: unknown): Promise<void> {
  if (failure !== undefined) return;
  failure = error;
  const { message, stack } = toPlainError(error);
  logger.error({ error: message, stack }, 'pipeline.thread-failed');
  await Promise.allSettled([...running]);
  await Promise.allSettled([...shards.keys()].map(closeShard));
  process.exit(1);
}

function endingFailure(): TransientError {
  return new TransientError('PipelineEnded', 'the pipeline thread ends after a failure; ask the next one');
}

async function handle(request: ThreadRequest): Promise<unknown> {
  switch (request.kind) {
    case 'prepare':
      return preparations.prepare(request.assignment);
    case 'discard':
      return preparations.discard(request.workgroupId);
    case 'open': {
      const { assignment } = request;
      await closeShard(assignment.workgroup.id);
      const opening = preparations.use(assignment.workgroup.id, () =>
        openAssignment(assignment, systemClock, logger, claims),
      );
      shards.set(assignment.workgroup.id, opening);
      opening.catch(() => {
        if (shards.get(assignment.workgroup.id) === opening) shards.delete(assignment.workgroup.id);
      });
      const open = await opening;
      const { shard } = open;
      if (shards.get(assignment.workgroup.id) === opening) opened.set(assignment.workgroup.id, open);
      fileChecks.set(assignment.workgroup.id, watchWarehouseFile(warehousePath(assignment)));
      await shareMemory();
      return { epoch: shard.epoch, ...(open.bucket && { bucket: open.bucket.state() }) };
    }
    case 'run': {
      const { workgroupId, operation, args } = request;
      const open = await shards.get(workgroupId);
      if (!open) throw new TransientError('ShardNotOpen', `the warehouse of ${workgroupId} is not open here`);
      if (!isShardOperation(operation))
        throw new TerminalError('NoWorker', `no worker runs for ${workgroupId}; start one`);
      const handler = operations[operation] as Handler<OperationName>;
      const lost = open.bucket?.lost();
      if (lost) throw lost;
      const checkFile = fileChecks.get(workgroupId);
      checkFile?.();
      const abort = new AbortController();
      aborts.set(request.id, abort);
      const result = await handler(open, args as never, abort.signal).finally(() =>
        aborts.delete(request.id),
      );
      // The file is checked again. If it was deleted meanwhile, the result must not be acknowledged.
      checkFile?.();
      return result;
    }
    case 'abort':
      aborts.get(request.callId)?.abort();
      return undefined;
    case 'close':
      return closeShard(request.workgroupId);
    case 'end':
      await preparations.stop();
      await Promise.all([...shards.keys()].map(closeShard));
      return undefined;
    default:
      return request satisfies never;
  }
}

async function closeShard(workgroupId: string): Promise<void> {
  const opening = shards.get(workgroupId);
  shards.delete(workgroupId);
  opened.delete(workgroupId);
  fileChecks.delete(workgroupId);
  const open = await opening?.catch(() => undefined);
  if (open) await closeAssignment(open);
  await shareMemory();
}

/** Each warehouse has at least this memory, even if many are open. */
const MEMORY_MEGABYTES_MIN = 128;
let sharedMegabytes = Number.NaN;

/** All open warehouses share the configured memory evenly. */
async function shareMemory(): Promise<void> {
  const open = [...opened.values()];
  const [first] = open;
  if (!first) return;
  const budget = first.assignment.pipeline.warehouseMemoryMegabytes;
  const megabytes = Math.max(MEMORY_MEGABYTES_MIN, Math.floor(budget / open.length));
  if (open.length === 1 && Number.isNaN(sharedMegabytes)) return;
  sharedMegabytes = megabytes;
  // A shard that is being closed refuses it.
  await Promise.allSettled(open.map(({ shard }) => shard.limitMemory(megabytes)));
}
