// Opens the given warehouse, as a thread or as a process, closes it again and reports the result.
import { parentPort, workerData } from 'node:worker_threads';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openShard } from '../../src/warehouse/shard.ts';

const answer = await attempt(typeof workerData === 'string' ? workerData : process.argv[2]!);
if (parentPort) parentPort.postMessage(answer);
else process.stdout.write(JSON.stringify(answer));

async function attempt(path: string): Promise<unknown> {
  try {
    const shard = await openShard({
      path,
      workgroupId: 'acme',
      memoryMegabytes: 256,
      threads: 1,
      clock: systemClock,
      logger: silentLogger,
    });
    await shard.close();
    return 'opened';
  } catch (error) {
    const { name, code, message, details } = error as Error & { code?: string; details?: unknown };
    return { name, code, message, details };
  }
}
