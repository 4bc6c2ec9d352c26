import { expect, onTestFinished, test } from 'vitest';
import { startWorker } from '../../jobs/worker.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, localDateOf } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a workgroup that hibernates is opened for a moment on another day', async () => {
  const clock = { atMs: Date.UTC(2026, 10, 20, 22), now: () => clock.atMs };
  const config = configSchema.parse({
    dataDir: tempDir(),
    pipeline: { hibernateAfter: '10m', pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms' },
    workgroups: [{ id: 'asleep' }, { id: 'new' }],
  });
  const events: string[] = [];
  let closedOn = localDateOf(clock.now(), 'Etc/UTC');
  const note = (what: string) => async (id: string) => void events.push(`${what} ${id}`);
  const worker = await startWorker({
    config,
    workgroups: createWorkgroups(config),
    clock,
    leaseMs: 100,
    logger: silentLogger,
    dependencies: {
      stages: {
        poll: note('poll'),
        rollup: note('rollup'),
        publish: note('publish'),
        maintain: note('maintain'),
        commit: note('commit'),
        export: note('export'),
      },
      openShard: note('open'),
      closeShard: note('close'),
      hasNews: () => true,
      assess: async (id) =>
        id === 'new' ? 'new' : closedOn === localDateOf(clock.now(), 'Etc/UTC') ? 'idle' : 'due',
      mayHibernate: async () => true,
      async onHibernated() {
        closedOn = localDateOf(clock.now(), 'Etc/UTC');
      },
    },
  });
  onTestFinished(() => worker.stop());
  /** Time passes, until the worker has looked at its workgroups. */
  const pass = async (ms: number) => {
    clock.atMs += ms;
    await until('a round has begun', () => worker.health().lastRoundAtMs >= clock.atMs);
  };
  await pass(HOUR_MS);
  expect(events).toEqual([]);
  // It is midnight.
  await pass(HOUR_MS);
  await until('it is open', () => events.includes('open asleep'));
  // A stage runs again at the earliest after the time that the paces say.
  await until('it is closed again', () => {
    clock.atMs += 100;
    return events.includes('close asleep');
  });
  expect(events).toContain('maintain asleep');
  expect(events.filter((event) => event.startsWith('open'))).toEqual(['open asleep']);
  expect(clock.atMs).toBeLessThan(Date.UTC(2026, 10, 21) + config.pipeline.hibernateAfter);
});
