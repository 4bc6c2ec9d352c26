import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seedQueueImage } from '../support/queue-image.ts';
import { until } from '../support/until.ts';
import { createWorkerFleet, readJournal } from '../support/worker-fleet.ts';
import type { WorkerProcessOptions } from '../support/worker-process.ts';

let directory: string;
const fleet = createWorkerFleet();
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wattline-worker-'));
  await seedQueueImage(join(directory, 'data'));
});
afterAll(async () => {
  await fleet.stopAll();
  await rm(directory, { recursive: true, force: true });
});

test('a worker with an embedded queue works, is killed, and works again after a restart', async () => {
  const options: WorkerProcessOptions = {
    journal: join(directory, 'journal'),
    config: {
      dataDir: join(directory, 'data'),
      pipeline: { pollEvery: 200, rollupEvery: 300, publishEvery: 400, maintainEvery: 1_000 },
      workgroups: [{ id: 'a' }, { id: 'b' }],
    },
  };
  const ran = (workgroup: string, pid: number) => {
    const lines = readJournal(options.journal, workgroup).filter((line) => line.pid === pid);
    return new Set(lines.filter(({ event }) => event === 'end').map(({ what }) => what));
  };
  const first = await fleet.start(options);
  await until('all jobs of both ran', () => ran('a', first.pid).size === 4 && ran('b', first.pid).size === 4);
  expect(await first.health()).toMatchObject({ backend: 'pglite', live: true, healthy: true });
  await first.crash();

  const second = await fleet.start({ ...options, behaviour: { publish: 'wait-for-abort' } });
  await until(
    'jobs of both run again',
    () => ran('a', second.pid).size >= 2 && ran('b', second.pid).size >= 2,
  );
  await until('a publish runs', async () =>
    (await second.health()).shards.every(({ stages }) =>
      stages.some(({ stage, runningSinceMs }) => stage === 'publish' && runningSinceMs !== null),
    ),
  );
  expect((await second.stop()).code).toBe(0);
  for (const workgroup of ['a', 'b'])
    expect(readJournal(options.journal, workgroup).at(-1)).toMatchObject({ what: 'shard', event: 'close' });
});
