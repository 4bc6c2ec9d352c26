import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listProcessFiles, writeProcessFile } from '../../src/worker-rpc/process-file.ts';
import { tempDir } from '../support/temp-dir.ts';

const own = { port: 1, secret: 's'.repeat(32), roles: ['report'] };

test('a process removes the files of ended processes of this machine, and at its end its own', () => {
  const dataDir = tempDir();
  const folder = join(dataDir, 'control', 'processes');
  const first = writeProcessFile(dataDir, own);
  const { pid } = spawnSync('true');
  const others = [
    { ...own, pid, host: hostname() },
    { ...own, pid, host: 'elsewhere' },
    { ...own, pid: process.ppid, host: hostname() },
  ];
  for (const [index, other] of others.entries())
    writeFileSync(join(folder, `${index}.json`), JSON.stringify(other));
  writeFileSync(join(folder, 'broken.json'), '{');
  const second = writeProcessFile(dataDir, own);
  expect(readdirSync(folder)).not.toContain('0.json');
  expect(
    listProcessFiles(dataDir)
      .map(({ file }) => file.pid)
      .sort(),
  ).toEqual([process.pid, process.pid, pid, process.ppid].sort());
  expect(statSync(folder).mode & 0o077).toBe(0);
  first.remove();
  second.remove();
  expect(
    listProcessFiles(dataDir)
      .map(({ file }) => file.pid)
      .sort(),
  ).toEqual([pid, process.ppid].sort());
});

test('the last process removes the folder', () => {
  const dataDir = tempDir();
  writeProcessFile(dataDir, own).remove();
  expect(existsSync(join(dataDir, 'control', 'processes'))).toBe(false);
  expect(listProcessFiles(dataDir)).toEqual([]);
});

test('a folder that cannot be read is an error, and does not mean that no process runs', () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, 'control'));
  writeFileSync(join(dataDir, 'control', 'processes'), 'a file in its place');
  expect(() => listProcessFiles(dataDir)).toThrow(/ENOTDIR/);
});
