import { machineName } from '../lib/machine-name.ts';
import { processFacts } from '../lib/process-facts.ts';
import { type ControlFile, readWorkerFiles, removeWorkerFile } from './rpc-file.ts';
import { isAlive } from './worker-rpc.ts';

/**
 * The workers of a data folder on this machine.
 * - `living`: at least one can open workgroups
 * - `stopped`: a signal has stopped it (SIGSTOP), and no other one lives
 * - `ended`: it was killed or has crashed, and no other one lives
 * - `none`: none was started, or all have stopped in order
 */
export type LocalWorkers = { kind: 'living' | 'none' } | { kind: 'stopped' | 'ended'; pid: number };

export function findLocalWorkers(dataDir: string): LocalWorkers {
  const states = readWorkerFiles(dataDir).map((file) => ({ kind: stateOf(file), pid: file.pid }));
  if (states.some(({ kind }) => kind === 'living')) return { kind: 'living' };
  for (const wanted of ['stopped', 'ended'] as const) {
    const found = states.find(({ kind }) => kind === wanted);
    if (found) return { kind: wanted, pid: found.pid };
  }
  return { kind: 'none' };
}

/** True if this worker of this machine was killed or has crashed, and no worker has been started since then. */
export function hasEnded(dataDir: string, pid: number): boolean {
  return readWorkerFiles(dataDir).some((file) => file.pid === pid && stateOf(file) === 'ended');
}

/** Removes the files of workers that were killed. To be called when a worker starts. */
export function forgetEndedWorkers(dataDir: string): void {
  for (const file of readWorkerFiles(dataDir)) if (stateOf(file) === 'ended') removeWorkerFile(dataDir, file);
}

/** Process ids of another machine, with a shared data folder, say nothing here. A worker removes its file when it stops in order. */
function stateOf({ pid, machine }: ControlFile): 'living' | 'stopped' | 'ended' | 'unknown' {
  const own = machineName();
  const isSameBoot = machine === undefined || machine === own;
  if (isSameBoot && isAlive(pid)) return processFacts(pid)?.isStopped ? 'stopped' : 'living';
  return machine !== undefined && machine.split(' ')[0] === own.split(' ')[0] ? 'ended' : 'unknown';
}
