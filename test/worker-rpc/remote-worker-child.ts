// A worker with a data folder of its own that answers calls of other processes. Its stages do nothing. It
// reports each operation that it runs.

import { type RunningWorker, startWorker } from '../../jobs/worker.ts';
import { openProcessTokens } from '../../src/access/process-token.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import { createPipeline, type Pipeline } from '../../src/pipeline/pipeline.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { answerForShards } from '../../src/service/answer-for-shards.ts';
import { announceWorker } from '../../src/worker-rpc/owner-directory.ts';
import { startRemoteServer } from '../../src/worker-rpc/remote-server.ts';
import { assignmentOf } from '../pipeline/answers.ts';

const { dataDir, keyFile, redisUrl, leaseMs, isIdle, machine } = JSON.parse(process.argv[2]!);
const config = configSchema.parse({
  dataDir,
  workgroups: [{ id: 'acme' }],
  queue: { backend: 'redis', redisUrl },
  storage: { shared: true },
  pipeline: { warehouseMemoryMegabytes: 256 },
});
const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
const open = new Set<string>();
const nothing = async () => ({ more: false });
const worker: RunningWorker = await startWorker({
  config,
  workgroups: createWorkgroups(config),
  leaseMs,
  logger: silentLogger,
  dependencies: {
    stages: {
      poll: nothing,
      rollup: nothing,
      publish: nothing,
      maintain: nothing,
      commit: nothing,
      export: nothing,
    },
    async openShard(workgroupId) {
      await pipeline.open(assignmentOf(dataDir, workgroupId));
      open.add(workgroupId);
    },
    async closeShard(workgroupId) {
      open.delete(workgroupId);
      await pipeline.closeShard(workgroupId);
    },
    hasNews: () => true,
    assess: async () => (isIdle ? 'idle' : 'behind'),
    mayHibernate: async () => false,
    onHibernated: async () => undefined,
  },
});
const journal: Pick<Pipeline, 'run'> = {
  run(workgroupId, operation, ...rest) {
    process.send!(operation);
    return pipeline.run(workgroupId, operation, ...rest);
  },
};
const server = await startRemoteServer({
  host: '127.0.0.1',
  port: 0,
  workerId: worker.workerId,
  dataDir,
  tokens: await openProcessTokens({ keyFile, issuer: 'wattline', clock: systemClock }),
  pipeline: answerForShards(journal, { wake: worker.wake, noteChange: worker.noteChange }),
  hasOpen: (workgroupId) => open.has(workgroupId),
  canWake: async (workgroupId) => worker.canWake(workgroupId),
  clock: systemClock,
  logger: silentLogger,
});
const redis = await openRedisConnection({ url: redisUrl, logger: silentLogger });
const address = { workerId: worker.workerId, host: '127.0.0.1', port: server.port, machine };
await announceWorker(redis, address, { leaseMs, startTimer: startSystemTimer, logger: silentLogger });
process.send!(`worker ${worker.workerId}`);
