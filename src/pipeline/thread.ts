import { parentPort, workerData } from 'node:worker_threads';
import { TransientError } from '../errors.ts';
import { createLog } from '../log.ts';
import { systemClock } from '../time.ts';
import { type ThreadReply, type ThreadRequest, toPlainError } from './messages.ts';
import {
  type Handler,
  type OpenShard,
  type OperationName,
  openAssignment,
  operations,
} from './operations.ts';

/**
 * The thread that decodes, lands, rolls up and publishes, so that the main thread stays free for queue locks and HTTP. It owns the
 * DuckDB file of every shard that it has open. Ending a thread with a DuckDB call pending would abort the process, so it ends only
 * after every shard has been closed.
 */
const log = createLog({ level: (workerData as { logLevel: string }).logLevel });
const shards = new Map<string, Promise<OpenShard>>();

parentPort!.on('message', async (request: ThreadRequest) => {
  let reply: ThreadReply;
  try {
    reply = { id: request.id, result: await handle(request) };
  } catch (error) {
    reply = { id: request.id, error: toPlainError(error) };
  }
  parentPort!.postMessage(reply);
  if (request.kind === 'end') parentPort!.close();
});

async function handle(request: ThreadRequest): Promise<unknown> {
  switch (request.kind) {
    case 'open': {
      const { assignment } = request;
      await closeShard(assignment.workgroup.id);
      const opening = openAssignment(assignment, systemClock, log);
      shards.set(assignment.workgroup.id, opening);
      opening.catch(() => shards.delete(assignment.workgroup.id));
      return { epoch: (await opening).shard.epoch };
    }
    case 'run': {
      const { workgroupId, operation, args } = request;
      const open = await shards.get(workgroupId);
      if (!open) throw new TransientError('ShardNotOpen', `the warehouse of ${workgroupId} is not open here`);
      return (operations[operation] as Handler<OperationName>)(open, args as never);
    }
    case 'close':
      return closeShard(request.workgroupId);
    case 'end':
      await Promise.all([...shards.keys()].map(closeShard));
      return undefined;
    default:
      return request satisfies never;
  }
}

async function closeShard(workgroupId: string): Promise<void> {
  const opening = shards.get(workgroupId);
  shards.delete(workgroupId);
  const open = await opening?.catch(() => undefined);
  await open?.shard.close();
}
