import { hostOf, machineName } from '../lib/machine-name.ts';
import { processFacts } from '../lib/process-facts.ts';
import { SECOND_MS } from '../lib/time.ts';
import { isAlive } from './control.ts';
import { readControlFile, readWorkerFiles, removeWorkerFile, type WorkerFile } from './control-file.ts';

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
  for (const state of ['stopped', 'ended'] as const) {
    const found = states.find(({ kind }) => kind === state);
    if (found) return { kind: state, pid: found.pid };
  }
  return { kind: 'none' };
}

/**
 * True if this worker of this machine was killed or has crashed, and no worker has been started since then.
 */
export function hasEnded(dataDir: string, pid: number): boolean {
  return readWorkerFiles(dataDir).some((file) => file.pid === pid && stateOf(file) === 'ended');
}

/** The living process of this machine that has a workgroup of a data folder open. */
export function localOwnerPid(dataDir: string, workgroupId: string): number | undefined {
  const owner = readControlFile(dataDir, workgroupId);
  return owner && owner.machine === machineName() && isAlive(owner.pid) ? owner.pid : undefined;
}

/** True if another process of this machine has the workgroup open. */
export function isOpenBeside(dataDir: string, workgroupId: string): boolean {
  const ownerPid = localOwnerPid(dataDir, workgroupId);
  return ownerPid !== undefined && ownerPid !== process.pid;
}

/** Removes the files of workers that were killed. To be called when a worker starts. */
export function forgetEndedWorkers(dataDir: string): void {
  for (const file of readWorkerFiles(dataDir)) if (stateOf(file) === 'ended') removeWorkerFile(dataDir, file);
}

/**
 * With a shared data folder, the file can be of another machine. Its process id has no meaning here. A worker
 * removes its file when it stops in order.
 */
function stateOf(file: WorkerFile): 'living' | 'stopped' | 'ended' | 'unknown' {
  const { pid, machine } = file;
  const own = machineName();
  const isSameBoot = machine === undefined || machine === own;
  if ((isSameBoot || hasWritten(file)) && isAlive(pid))
    return processFacts(pid)?.isStopped ? 'stopped' : 'living';
  return machine !== undefined && hostOf(machine) === hostOf(own) ? 'ended' : 'unknown';
}

/**
 * True if a process with this id has written the file. In a container, a service with a `/proc` of its own
 * (`ProtectProc` of systemd) reads another id of the last start than a command. After a restart of the
 * machine, the process with that id is younger than the file.
 */
function hasWritten({ pid, machine, writtenAtMs }: WorkerFile): boolean {
  const startedAtMs = processFacts(pid)?.startedAtMs;
  const isHere = machine !== undefined && hostOf(machine) === hostOf(machineName());
  return isHere && startedAtMs !== undefined && startedAtMs <= writtenAtMs + ROUNDED_MS;
}

/** The start of a process is known to the second. */
const ROUNDED_MS = 2 * SECOND_MS;
