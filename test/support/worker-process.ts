// A worker as a separate process, for tests that kill it. Its stages write to files which work they do.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StageName } from '../../jobs/stages.ts';
import { type RunningWorker, startWorker } from '../../jobs/worker.ts';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { createLogger } from '../../src/lib/logger.ts';

export interface WorkerProcessOptions {
  /** The file that the stages write. */
  journal: string;
  config: ConfigInput;
  leaseMs?: number;
  logLevel?: string;
  /**
   * True if the message `news <workgroup>` brings news to the shards, so that they can hibernate. By default
   * the shards are polled.
   */
  hasNews?: boolean;
  /** Workgroups that have nothing to do when the worker starts. */
  idle?: string[];
  /** What a stage does in addition to writing its beginning and its end. */
  behaviour?: Partial<Record<StageName, 'wait-for-abort' | 'ignore-abort' | 'throw' | 'take-100ms'>>;
}

const options: WorkerProcessOptions = JSON.parse(process.argv[2] ?? '{}');
const { journal, behaviour = {}, hasNews = false } = options;
const idle = new Set(options.idle);
mkdirSync(journal, { recursive: true });

function write(workgroupId: string, what: string): void {
  appendFileSync(join(journal, `${workgroupId}.log`), `${Date.now()} ${process.pid} ${what}\n`);
}

function stage(name: StageName) {
  return async (workgroupId: string, signal: AbortSignal) => {
    write(workgroupId, `${name} begin`);
    try {
      switch (behaviour[name]) {
        case 'wait-for-abort':
          await sleep(3_600_000, undefined, { signal });
          break;
        case 'ignore-abort':
          await sleep(3_600_000);
          break;
        case 'take-100ms':
          await sleep(100);
          break;
        case 'throw':
          throw Object.assign(new Error('the reading 4711.5 of secret-token-abc is bad'), {
            code: 'BadReading',
          });
        case undefined:
          break;
      }
      // Reports a change, as landed messages do.
      if (name === 'poll') worker?.noteChange(workgroupId);
    } finally {
      write(workgroupId, `${name} end`);
    }
  };
}

const config = configSchema.parse(options.config);
let worker: RunningWorker | undefined;
const started = await startWorker({
  config,
  workgroups: createWorkgroups(config),
  ...(options.leaseMs && { leaseMs: options.leaseMs }),
  logger: createLogger({ level: options.logLevel ?? 'silent' }),
  dependencies: {
    stages: {
      poll: stage('poll'),
      rollup: stage('rollup'),
      publish: stage('publish'),
      maintain: stage('maintain'),
      commit: stage('commit'),
      export: stage('export'),
    },
    openShard: async (workgroupId) => write(workgroupId, 'shard open'),
    closeShard: async (workgroupId) => write(workgroupId, 'shard close'),
    hasNews: () => hasNews,
    assess: async (workgroupId) => (idle.has(workgroupId) ? 'idle' : 'behind'),
    mayHibernate: async () => true,
    async onHibernated(workgroupId) {
      idle.add(workgroupId);
      write(workgroupId, 'shard hibernate');
    },
  },
});
worker = started;
process.on('message', async (message: string) => {
  const [what, workgroupId = ''] = message.split(' ');
  if (what === 'news') {
    idle.delete(workgroupId);
    return started.noteNews(workgroupId);
  }
  if (what === 'wake') return process.send?.(await started.wake(workgroupId));
  if (what === 'can-wake') return process.send?.(started.canWake(workgroupId));
  return process.send?.(started.health());
});
process.on('SIGTERM', async () => {
  await started.stop();
  // A stage that ignores its signal ends with the process. Nothing else may keep the process alive.
  if (Object.values(behaviour).includes('ignore-abort')) process.exit(0);
  process.disconnect();
});
process.send?.('started');
