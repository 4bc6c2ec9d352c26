import { expect, onTestFinished, test } from 'vitest';
import { openProcessTokens } from '../../src/access/process-token.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock, type UtcMs } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import type { FoundOwner, WorkerAddress } from '../../src/worker-rpc/owner-directory.ts';
import { createRemoteControl } from '../../src/worker-rpc/remote-control.ts';
import { startRemoteServer } from '../../src/worker-rpc/remote-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeKeys } from './remote-support.ts';

test('of the workers that can open a workgroup, the one that had it last is found', async () => {
  const tokens = await openProcessTokens({
    keyFile: await writeKeys(tempDir()),
    issuer: 'wattline',
    clock: systemClock,
  });
  /** A worker that can open the workgroup. @param hadItAtMs when it last had it. Undefined: never */
  const startWorker = async (name: string, hadItAtMs: UtcMs | undefined): Promise<WorkerAddress> => {
    const dataDir = tempDir();
    if (hadItAtMs !== undefined)
      createStatusBook({ dataDir, clock: { now: () => hadItAtMs }, logger: silentLogger }).update(
        'acme',
        'rollup',
        {},
      );
    const server = await startRemoteServer({
      ...{ host: '127.0.0.1', port: 0, workerId: name, dataDir, tokens },
      pipeline: { run: () => Promise.reject(new Error('was run')) },
      hasOpen: () => false,
      canWake: async () => true,
      clock: systemClock,
      logger: silentLogger,
    });
    onTestFinished(() => server.end());
    return { workerId: name, host: '127.0.0.1', port: server.port, machine: `${name} boot` };
  };
  const workers = await Promise.all([
    startWorker('never', undefined),
    startWorker('last', 2_000),
    startWorker('earlier', 1_000),
  ]);
  const locate = (found: WorkerAddress[]) =>
    createRemoteControl({
      directory: { find: async () => ({ kind: 'free', workers: found }) },
      tokens,
      machine: 'here',
    }).locate('acme');
  expect(await locate(workers)).toMatchObject({ machine: 'last', status: { updatedAtMs: 2_000 } });
  expect(await locate(workers.slice(0, 1))).toEqual({ machine: 'never', status: undefined });
  expect(await locate([])).toBeUndefined();
});

const worker: WorkerAddress = { workerId: 'one', host: '127.0.0.1', port: 1, machine: 'here' };

test.each<[found: FoundOwner, isServed: boolean]>([
  [{ kind: 'owner', owner: worker }, true],
  [{ kind: 'unknown' }, true],
  [{ kind: 'free', workers: [worker] }, true],
  [{ kind: 'free', workers: [] }, false],
])('if %j is found for a workgroup, it is served: %s', async (found, isServed) => {
  const control = createRemoteControl({
    directory: { find: async () => found },
    tokens: { sign: () => Promise.reject(new Error('was asked')) },
    machine: 'here',
  });
  expect(await control.isServed('acme')).toBe(isServed);
});
