import { expect, test } from 'vitest';
import { createDueJobs } from '../../jobs/due-jobs.ts';
import { openBackend } from '../../jobs/queue-backend.ts';
import type { JobSchedule } from '../../jobs/stages.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { seedQueueImage } from '../support/queue-image.ts';
import { tempDir } from '../support/temp-dir.ts';

test('the embedded queue is open only around the time of a job, and opens again', async () => {
  const dataDir = tempDir();
  await seedQueueImage(dataDir);
  const config = { dataDir, queue: { backend: 'pglite' as const } };
  const backend = await openBackend({ config, logger: silentLogger });
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
  let rows: JobSchedule[] = [];
  const due = createDueJobs({
    openQueue: backend.openQueue,
    isOpenedLate: true,
    schedules: () => rows,
    handle: async () => 'here',
    clock,
    logger: silentLogger,
  });
  const row = (pattern: string): JobSchedule => ({
    key: 'export:home:x',
    pattern,
    timeZone: 'Etc/UTC',
    job: { stage: 'export', workgroupId: 'home' },
  });
  const hours = (new Date().getUTCHours() + 12) % 24;
  rows = [row(`0 ${hours} * * *`)];
  await due.review();
  expect(due.isQueueOpen()).toBe(false);
  for (let round = 0; round < 2; round++) {
    rows = [row('* * * * *')];
    await due.review();
    expect(due.isQueueOpen()).toBe(true);
    rows = [row(`0 ${hours} * * *`)];
    await due.review();
    expect(due.isQueueOpen()).toBe(true);
    clock.aheadMs += 3 * MINUTE_MS;
    await due.review();
    expect(due.isQueueOpen()).toBe(false);
  }
  // The time of the job comes near.
  const [nowMs, dueMs] = [clock.now(), new Date().setUTCHours(hours, 0, 0, 0)];
  clock.aheadMs += dueMs - nowMs - MINUTE_MS + (dueMs < nowMs ? 24 * HOUR_MS : 0);
  await due.review();
  expect(due.isQueueOpen()).toBe(true);
  await due.close();
  await backend.close();
});
