// @module-tag slow
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { assignmentOf, lakeFolder } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import type { OpenShard } from '../../src/pipeline/open-shard.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { commitPath, lakePaths } from '../../src/publish/lake-layout.ts';
import { waitUntilPublished } from '../../src/service/wait-until-published.ts';
import { DEVICE, fileOf } from '../import/import-fixture.ts';
import { analyse } from '../publish/publish-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const mapping = mappingSchema.parse({
  time: { column: 'time' },
  device: { id: DEVICE },
  fields: { total: 'total' },
});
const TOTAL = { table: 'solar', field: 'total', method: 'total_energy', unit: 'Wh' } as const;

type Ended = Extract<Awaited<ReturnType<typeof operations.importState>>, { kind: 'ended' }>;

/** A warehouse and what a worker does with it, step by step. */
async function openWorker(energyStreams: NonNullable<ConfigInput['workgroups']>[number]['energyStreams']) {
  const config = configSchema.parse({ workgroups: [{ id: 'home', energyStreams }] });
  const pipeline = { ...config.pipeline, currentEvery: 0 };
  const assignment = assignmentOf({ ...config, pipeline, dataDir: tempDir() }, config.workgroups[0]!);
  const open = await openAssignment(assignment, systemClock, silentLogger);
  onTestFinished(() => closeAssignment(open));
  const { current } = lakePaths(lakeFolder(assignment), 'home');
  const steps = {
    rollUp: () => operations.rollUp(open, undefined),
    publish: (by: OpenShard = open) => operations.publish(by, undefined),
  };

  async function ended(): Promise<Ended> {
    const state = await operations.importState(open, undefined);
    if (state.kind !== 'ended') throw new Error(`the import is ${state.kind}`);
    return state;
  }

  return {
    open,
    ...steps,
    /** Imports a register that grows by 10 Wh a quarter of an hour, to an hour of the day. */
    async land(hour: number): Promise<void> {
      const rows = [0, 15, 30, 45].map((minute, index) => {
        const time = new Date(Date.UTC(2024, 5, 1, hour, minute)).toISOString();
        return `${time},${1_000 + hour * 40 + index * 10}`;
      });
      const path = fileOf('export.csv', ['time,total', ...rows, ''].join('\n'));
      await operations.importStart(open, { path, table: 'solar', mapping });
      await until(
        'it has landed',
        async () => (await operations.importState(open, undefined)).kind === 'ended',
      );
    },
    isPublished: async () => {
      const { outcome, publishedBatchId } = await ended();
      return 'lastBatchId' in outcome && publishedBatchId >= outcome.lastBatchId;
    },
    /**
     * Settles the import, where the service does these steps meanwhile.
     * @returns the work that it did not wait for
     */
    async settle(...meanwhile: Array<keyof typeof steps>): Promise<string[]> {
      const first = await ended();
      if (!('lastBatchId' in first.outcome)) throw new Error('nothing has landed');
      const left = [...meanwhile];
      await waitUntilPublished(first, first.outcome.lastBatchId, {
        owner: {
          isService: true,
          ask: () => Promise.reject(new Error('asks for nothing')),
          async followUp() {
            const step = left.shift();
            if (!step) throw new Error('waits for more');
            await steps[step]();
            return true;
          },
          close: async () => undefined,
        },
        signal: new AbortController().signal,
        state: ended,
        onProgress: () => undefined,
      });
      return left;
    },
    energyWh: async () =>
      existsSync(join(current, 'analytics.duckdb'))
        ? (
            await analyse(
              join(current, 'analytics.duckdb'),
              'SELECT sum(energy_wh)::DOUBLE FROM daily_energy',
            )
          )[0]![0]
        : undefined,
  };
}

test('a publication that began between landing and roll-up does not have the energy: the next one is waited for', async () => {
  const worker = await openWorker([TOTAL]);
  // Of a warehouse that has never been rolled up, and of one that has.
  for (const [hour, energyWh] of [
    [8, 30],
    [9, 70],
  ] as const) {
    await worker.land(hour);
    await worker.publish();
    await worker.rollUp();
    expect(await worker.settle('publish', 'publish')).toEqual(['publish']);
    expect(await worker.energyWh()).toBe(energyWh);
  }
});

test('the publication after a roll-up without energy says that it is complete, and later ones change nothing', async () => {
  const worker = await openWorker([{ ...TOTAL, field: 'other' }]);
  await worker.land(8);
  await worker.publish();
  expect(await worker.settle('rollUp', 'publish', 'publish')).toEqual(['publish']);
  expect(await worker.publish()).toMatchObject({ kind: 'unchanged', sequence: 2 });
});

test('without energy streams the first publication is complete', async () => {
  const worker = await openWorker([]);
  await worker.land(8);
  expect(await worker.settle('publish', 'publish')).toEqual(['publish']);
});

test.runIf(isSoak)('a generation counts once readers see it', async () => {
  const worker = await openWorker([TOTAL]);
  await worker.land(8);
  await worker.rollUp();
  const { open } = worker;
  const commit = commitPath(lakePaths(lakeFolder(open.assignment), 'home'), 1);
  const meanwhile: Array<{ isThere: boolean; counts: boolean }> = [];
  await worker.publish({
    ...open,
    shard: {
      ...open.shard,
      transaction: (work, options) =>
        open.shard.transaction(async (connection) => {
          const result = await work(connection);
          meanwhile.push({ isThere: existsSync(commit), counts: await worker.isPublished() });
          return result;
        }, options),
    },
  });
  // The last transaction makes it visible, and stores that it is.
  expect(meanwhile.at(0)).toEqual({ isThere: false, counts: false });
  expect(meanwhile.at(-1)).toEqual({ isThere: true, counts: false });
  expect(await worker.isPublished()).toBe(true);
});
