import { spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { machineName } from '../../src/lib/machine-name.ts';
import {
  silentWorkerTroubles,
  stoppedOwnerTroubles,
  workerTroubles,
} from '../../src/operate/owner-troubles.ts';
import { emptyStatus } from '../../src/pipeline/workgroup-status.ts';
import { writeControlFile } from '../../src/worker-rpc/control-file.ts';
import type { LocalWorkers } from '../../src/worker-rpc/local-workers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a worker that was stopped by a signal or killed is a trouble, even if no workgroup has its data open', () => {
  const dataDir = tempDir();
  const { pid } = process;
  const of = (workers: LocalWorkers) => workerTroubles({ dataDir }, workers, 'home', 0);
  expect(of({ kind: 'stopped', pid })).toMatchObject([
    {
      workgroupId: 'home',
      state: 'not-open',
      message: expect.stringContaining(`its worker is process ${pid}`),
    },
  ]);
  // `stoppedOwnerTroubles` already tells that this process holds the data of the workgroup.
  writeControlFile(dataDir, 'home', { port: 1, secret: 's'.repeat(32), pid });
  expect(of({ kind: 'stopped', pid })).toEqual([]);
  expect(of({ kind: 'ended', pid })).toMatchObject([
    {
      message: expect.stringMatching(
        `its worker, process ${pid}, was killed or has crashed; .*"wattline up"`,
      ),
    },
  ]);
  expect([of({ kind: 'living' }), of({ kind: 'none' })]).toEqual([[], []]);
});

test('a worker that runs and writes no status is a trouble; one that has stopped, or has just written, is none', () => {
  const dataDir = tempDir();
  const { pid } = process;
  const [writtenMs, nowMs] = [1_000_000, 1_100_000];
  const status = emptyStatus('home', writtenMs);
  const of = (given = status, atMs = nowMs) => silentWorkerTroubles({ dataDir }, given, atMs);
  expect(of()).toEqual([]);
  writeControlFile(dataDir, 'home', { port: 1, secret: 's'.repeat(32), pid, machine: machineName() });
  expect(of()).toEqual([
    {
      workgroupId: 'home',
      sinceMs: writtenMs,
      stage: 'store',
      state: 'failing',
      message: `its worker, process ${pid}, runs, but has written no status since 1970-01-01T00:16:40.000Z; look for the cause in its log, such as a full disk`,
    },
  ]);
  expect(of(status, writtenMs + 1_000)).toEqual([]);
  expect(of({ ...status, hasStopped: true })).toEqual([]);
  expect(of({ ...status, processId: pid + 1 })).toEqual([]);
  writeControlFile(dataDir, 'home', { port: 1, secret: 's'.repeat(32), pid, machine: 'another' });
  expect(of()).toEqual([]);
});

test('a process that holds the data of a workgroup and was stopped by a signal is a trouble, until it continues', async () => {
  const dataDir = tempDir();
  const { pid, kill } = startSleeper();
  writeControlFile(dataDir, 'home', { port: 1, secret: 's'.repeat(32), pid });
  const found = (workgroupId = 'home') => stoppedOwnerTroubles({ dataDir }, workgroupId, 7);
  expect(found()).toEqual([]);
  kill('SIGSTOP');
  await until('the process is stopped', async () => found().length > 0);
  expect(found()).toEqual([
    {
      workgroupId: 'home',
      sinceMs: 7,
      stage: 'open',
      state: 'not-open',
      message: expect.stringMatching(`^the data are held by process ${pid}, .*"kill -CONT ${pid}"`),
    },
  ]);
  expect(found('plant')).toEqual([]);
  kill('SIGCONT');
  await until('the process continues', async () => found().length === 0);
});

/** A process that does nothing, until the end of the test. */
function startSleeper() {
  const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void sleeper.kill('SIGKILL'));
  return { pid: sleeper.pid!, kill: (signal: NodeJS.Signals) => void sleeper.kill(signal) };
}
