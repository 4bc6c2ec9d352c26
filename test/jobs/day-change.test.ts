import { expect, onTestFinished, test } from 'vitest';
import { startWorker, type WorkerOptions } from '../../jobs/worker.ts';
import type { WorkerDependencies } from '../../jobs/worker-dependencies.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Clock, HOUR_MS, localDateOf } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const dayOf = (ms: number) => localDateOf(ms, 'Etc/UTC');

async function startWith(
  clock: Clock,
  options: Pick<WorkerOptions, 'leaseMs'> & Pick<WorkerDependencies, 'assess' | 'onHibernated'>,
) {
  const { leaseMs, assess, onHibernated } = options;
  const config = configSchema.parse({
    dataDir: tempDir(),
    pipeline: { hibernateAfter: '10m', pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms' },
    workgroups: [{ id: 'asleep' }, { id: 'new' }],
  });
  const events: string[] = [];
  const note = (what: string) => async (id: string) => void events.push(`${what} ${id}`);
  const worker = await startWorker({
    config,
    workgroups: createWorkgroups(config),
    clock,
    leaseMs,
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
      assess,
      mayHibernate: async () => true,
      onHibernated,
    },
  });
  onTestFinished(() => worker.stop());
  return { worker, events, pipeline: config.pipeline };
}

test('a workgroup that hibernates is opened for a moment on another day', async () => {
  const clock = { atMs: Date.UTC(2026, 10, 20, 22), now: () => clock.atMs };
  let closedOn = dayOf(clock.now());
  const { worker, events, pipeline } = await startWith(clock, {
    leaseMs: 100,
    assess: async (id) => (id === 'new' ? 'new' : closedOn === dayOf(clock.now()) ? 'idle' : 'due'),
    async onHibernated() {
      closedOn = dayOf(clock.now());
    },
  });
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
  expect(clock.atMs).toBeLessThan(Date.UTC(2026, 10, 21) + pipeline.hibernateAfter);
});

test('a workgroup can be opened again at once if a look at all leases was made while it closed', {
  tags: ['slow'],
}, async () => {
  const clock = { atMs: Date.UTC(2026, 10, 20, 22), now: () => clock.atMs };
  const { worker } = await startWith(clock, {
    leaseMs: 2_000,
    assess: async (id) => (id === 'asleep' ? 'due' : 'new'),
    async onHibernated() {
      const startedAtMs = clock.atMs;
      await until('a round has ended', () => {
        clock.atMs += 1;
        return worker.health().lastRoundAtMs > startedAtMs;
      });
    },
  });
  const state = () => worker.health().shards.find(({ workgroupId }) => workgroupId === 'asleep')?.state;
  await until('it closes', () => {
    clock.atMs += 100;
    return state() === 'hibernating';
  });
  await until('it is closed', () => state() !== 'hibernating');
  expect(state()).toBe('hibernated');
  expect(worker.canWake('asleep')).toBe(true);
});
