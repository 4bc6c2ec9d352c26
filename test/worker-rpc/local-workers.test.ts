import { spawn, spawnSync } from 'node:child_process';
import { statSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { machineName } from '../../src/lib/machine-name.ts';
import { readWorkerFiles, writeControlFile, writeWorkerFile } from '../../src/worker-rpc/control-file.ts';
import { findLocalWorkers, forgetEndedWorkers, isOpenBeside } from '../../src/worker-rpc/local-workers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const { pid } = process;
const HOUR_S = 3_600;

/** The worker is this process. @param writtenS when it wrote its file, in seconds before now */
function find(machine: string, writtenS = 0) {
  const dataDir = tempDir();
  writeWorkerFile(dataDir, { port: 1, secret: 's'.repeat(32), pid, machine });
  const atS = Date.now() / 1_000 - writtenS;
  utimesSync(join(dataDir, 'control', 'workers', `${pid}.json`), atS, atS);
  return findLocalWorkers(dataDir);
}

test('a process that lives is the worker of its file', () => {
  expect(find(machineName())).toEqual({ kind: 'living' });
});

test('it is, too, if it reads another id of the last start than a command, as in a container', () => {
  expect(find(`${hostname()} 6f1c6f0e-0000-4000-8000-000000000000`)).toEqual({ kind: 'living' });
});

test('it is not if the machine was restarted, and the process is younger than the file', () => {
  const olderThanProcess = process.uptime() + HOUR_S;
  const before = `${hostname()} 6f1c6f0e-0000-4000-8000-000000000000`;
  expect(find(before, olderThanProcess)).toEqual({ kind: 'ended', pid });
});

test('a worker that is stopped is named before one that has ended', async () => {
  const dataDir = tempDir();
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill('SIGKILL'));
  const write = (one: number) =>
    writeWorkerFile(dataDir, { port: 1, secret: 's'.repeat(32), pid: one, machine: machineName() });
  write(child.pid!);
  expect(findLocalWorkers(dataDir)).toEqual({ kind: 'living' });
  child.kill('SIGSTOP');
  await until('it is stopped', () => findLocalWorkers(dataDir).kind === 'stopped');
  const endedPid = spawnSync('true').pid;
  write(endedPid);
  expect(findLocalWorkers(dataDir)).toEqual({ kind: 'stopped', pid: child.pid });
  write(pid);
  expect(findLocalWorkers(dataDir)).toEqual({ kind: 'living' });
});

test('only workers that have ended are forgotten', () => {
  const dataDir = tempDir();
  const endedPid = spawnSync('true').pid;
  for (const one of [pid, endedPid])
    writeWorkerFile(dataDir, { port: 1, secret: 's'.repeat(32), pid: one, machine: machineName() });
  forgetEndedWorkers(dataDir);
  expect(readWorkerFiles(dataDir).map((file) => file.pid)).toEqual([pid]);
});

test('files of other machines say nothing', () => {
  expect(find('elsewhere 6f1c6f0e-0000-4000-8000-000000000000')).toEqual({ kind: 'none' });
});

test('a workgroup is open beside this process if another one that lives has it', () => {
  const dataDir = tempDir();
  const open = (changes: { pid?: number; machine?: string }) => {
    writeControlFile(dataDir, 'a', {
      ...{ port: 1, secret: 's'.repeat(32), pid: process.ppid, machine: machineName() },
      ...changes,
    });
    return isOpenBeside(dataDir, 'a');
  };
  expect(isOpenBeside(dataDir, 'a')).toBe(false);
  expect(open({})).toBe(true);
  expect(open({ pid })).toBe(false);
  const ended = spawnSync('true');
  expect(open({ pid: ended.pid })).toBe(false);
  expect(open({ machine: 'elsewhere 6f1c6f0e-0000-4000-8000-000000000000' })).toBe(false);
});

test('only the user of a worker can read its secret', () => {
  const dataDir = tempDir();
  writeWorkerFile(dataDir, { port: 1, secret: 's'.repeat(32), pid, machine: machineName() });
  const modeOf = (...names: string[]) => statSync(join(dataDir, 'control', ...names)).mode & 0o777;
  expect([modeOf('workers'), modeOf('workers', `${pid}.json`)]).toEqual([0o700, 0o600]);
});
