// @module-tag slow
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createDueJobs } from '../../jobs/due-jobs.ts';
import { type EmbeddedQueue, openEmbeddedQueue } from '../../jobs/open-embedded-queue.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { processEnvironment } from '../support/process-environment.ts';
import { queueImageDir, seedQueueImage } from '../support/queue-image.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const isRunning = (processId: number) => existsSync(`/proc/${processId}`);
const everyMinute = {
  key: 'export:home:x',
  pattern: '* * * * *',
  timeZone: 'Etc/UTC',
  job: { stage: 'export' as const, workgroupId: 'home' },
};

test('a queue refuses calls after its process was killed, and the next review opens another one', async () => {
  await seedQueueImage(tempDir());
  const queues: EmbeddedQueue[] = [];
  const due = createDueJobs({
    async openQueue() {
      const queue = await openEmbeddedQueue({ cacheDir: queueImageDir, logger: silentLogger });
      queues.push(queue);
      return queue;
    },
    isOpenedLate: true,
    schedules: () => [everyMinute],
    handle: async () => 'here',
    clock: systemClock,
    logger: silentLogger,
  });
  onTestFinished(() => due.close());
  await due.review();
  const [first] = queues;
  expect(await first!.schedules()).toHaveLength(1);
  process.kill(first!.processId, 'SIGKILL');
  const error = await first!.schedules().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TransientError);
  expect(error).toMatchObject({ code: 'QueueProcessEnded' });
  await until('its end is known', () => first!.hasEnded());
  await due.review();
  expect(queues).toHaveLength(2);
  expect(await queues[1]!.schedules()).toHaveLength(1);
  await due.close();
  expect(queues.some(({ processId }) => isRunning(processId))).toBe(false);
});

test.runIf(isSoak)('the process of the queue ends with the process that has opened it', async () => {
  await seedQueueImage(tempDir());
  const module = join(import.meta.dirname, '..', '..', 'jobs', 'open-embedded-queue.ts');
  const code = `const { openEmbeddedQueue } = await import(${JSON.stringify(module)});
    const quiet = { debug() {}, info() {}, warn() {}, error() {} };
    const queue = await openEmbeddedQueue({ cacheDir: ${JSON.stringify(queueImageDir)}, logger: quiet });
    process.stdout.write(queue.processId + '\\n');`;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: processEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  parent.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await until('the queue is open', () => text.endsWith('\n'));
  const processId = Number(text);
  expect(isRunning(processId)).toBe(true);
  parent.kill('SIGKILL');
  await until('the process of the queue has ended', () => !isRunning(processId));
});
