import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { offsetOf } from '../../src/contract/offset.ts';
import type { OwnerOutcome } from '../../src/http/answer-of-owner.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { machineName } from '../../src/lib/machine-name.ts';
import { DAY_MS, HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { readWorkgroupStates } from '../../src/operate/workgroup-state.ts';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import { createStatusBook, emptyStatus, type WorkgroupStatus } from '../../src/pipeline/workgroup-status.ts';
import { writeWorkerFile } from '../../src/worker-rpc/control-file.ts';
import { loadConfig } from '../support/load-config.ts';
import { tempDir } from '../support/temp-dir.ts';
import { putEmptyWarehouse } from '../warehouse/empty-warehouse.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

test('in a shared folder, the work is found on another machine if the worker of this machine was killed', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroups: [{ id: home }]');
  const config = loadConfig({ cwd, environment: {} });
  const killed = spawnSync('true').pid;
  const worker = { port: 1, secret: 's'.repeat(32), pid: killed, machine: machineName() };
  writeWorkerFile(config.dataDir, worker);
  // The worker of the other machine writes its status to the shared folder.
  const book = createStatusBook({ dataDir: config.dataDir, clock: systemClock, logger: silentLogger });
  book.update('home', 'poll', { upToDate: true });
  await book.flush();
  const source = {
    config,
    workgroups: config.workgroups,
    exportsOf: () => [],
    findStream: async () => undefined,
    control: {
      ask: async () => ({ kind: 'not-running' as const }),
      locate: async () => ({ machine: 'other', status: emptyStatus('home', systemClock.now()) }),
    },
    clock: systemClock,
  };
  expect(await readWorkgroupStates(source, config.workgroups, { withEffects: false })).toMatchObject([
    { state: 'running', machine: 'other', troubles: [] },
  ]);
});

/**
 * The state of a workgroup whose worker is on another machine.
 * @param here what this machine knows of its data
 */
async function stateElsewhere(
  status: Partial<WorkgroupStatus>,
  here: { outcome?: OwnerOutcome<never>; prepare?: (dataDir: string) => Promise<unknown> } = {},
) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroups: [{ id: home }]');
  const config = loadConfig({ cwd, environment: {} });
  await here.prepare?.(config.dataDir);
  const written = { ...emptyStatus('home', systemClock.now()), ...status };
  const source = {
    config,
    workgroups: config.workgroups,
    exportsOf: () => [],
    findStream: async () => undefined,
    control: {
      ask: async () => here.outcome ?? { kind: 'not-running' as const },
      locate: async () => ({ machine: 'other', status: written }),
    },
    clock: systemClock,
  };
  const [state] = await readWorkgroupStates(source, config.workgroups, { withEffects: true });
  return state!;
}

const trouble = { workgroupId: 'home', stage: 'open', state: 'failing', sinceMs: 0, message: 'why' } as const;

test('troubles that a worker has written count while it runs, and not of one that has stopped', async () => {
  expect(await stateElsewhere({ troubles: [trouble] })).toMatchObject({
    state: 'failing',
    troubles: [trouble],
  });
  const updatedAtMs = systemClock.now() - HOUR_MS;
  expect(await stateElsewhere({ troubles: [trouble], updatedAtMs })).toMatchObject({
    state: 'stopped',
    troubles: [],
  });
});

test('messages from the future are a trouble', async () => {
  const nextOffset = String(offsetOf(systemClock.now() + 2 * DAY_MS));
  const { state, troubles } = await stateElsewhere({ poll: { nextOffset } });
  expect([state, troubles]).toEqual([
    'failing',
    [expect.objectContaining({ stage: 'store', message: expect.stringContaining('ahead of the clock') })],
  ]);
});

test('unfinished imports of a workgroup that hibernates elsewhere are those that its worker has written', async () => {
  const one = { path: 'may.csv', state: 'landing', rowsRead: 5, updatedAtMs: 0 } as const;
  expect(await stateElsewhere({ isHibernated: true, imports: [one] })).toMatchObject({
    ...{ state: 'hibernated', newestImports: [] },
    imports: [{ ...one, isUnderWay: true }],
  });
});

const hold = async (dataDir: string) => {
  const path = warehouseFile(dataDir, 'home');
  await putEmptyWarehouse(path);
  await openTestShard({ path, workgroupId: 'home' });
};
test.each<[owner: string, here: Parameters<typeof stateElsewhere>[1]]>([
  ['is busy', { outcome: { kind: 'failed', error: new TransientError('NoAnswer', 'busy') } }],
  ['cannot be asked', { prepare: hold }],
])(
  'while the process that has the data %s, imports are those that the worker has written',
  async (_, here) => {
    const one = { path: 'may.csv', state: 'landing', rowsRead: 5, updatedAtMs: 0 } as const;
    expect(await stateElsewhere({ imports: [one] }, here)).toMatchObject({
      ...{ state: 'running', troubles: [], newestImports: [] },
      imports: [{ ...one, isUnderWay: true }],
    });
  },
);
