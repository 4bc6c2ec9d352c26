import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { TerminalError } from '../../src/lib/errors.ts';
import type { ConfigReloaded } from '../../src/worker-rpc/process-rpc.ts';
import { startProcessServer } from '../../src/worker-rpc/process-server.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const nothing: ConfigReloaded = { added: [], changed: [], removed: [], alerts: false, needRestart: [] };

/** Processes of a service that answer a reload, and the command. */
async function setUp(...processes: Array<[role: string, reload: () => Promise<ConfigReloaded>]>) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify({ dataDir: './data' }));
  for (const [role, reload] of processes) {
    const other = async () => {
      throw new Error('only a reload is asked for');
    };
    const operations = { reload, configState: other, inputs: other };
    onTestFinished(
      await startProcessServer({ dataDir: join(cwd, 'data'), roles: ['stream', role], operations }),
    );
  }
  return (...args: string[]) => runCommand(['reload', ...args], { cwd });
}

test('a reload tells what was added, changed and removed, and what needs a restart', async () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`);
  const reloaded = {
    added: ['a', 'b'],
    changed: ids(21),
    removed: ids(20),
    alerts: true,
    needRestart: ['http.port', 'dataDir'],
  };
  const reload = await setUp(['worker', async () => reloaded]);
  const listed = ids(20).join(', ');
  expect(await reload()).toEqual({
    code: 0,
    stdout: `process ${process.pid} (stream, worker): added a, b; changed ${listed} and 1 more; removed ${listed}; changed the alerts
  not applied, because a change needs a restart: http.port, dataDir
`,
    stderr: '',
  });
  const { stdout } = await reload('--json');
  expect(JSON.parse(stdout)).toEqual([{ processId: process.pid, roles: ['stream', 'worker'], ...reloaded }]);
});

test('a process that refuses the configuration fails the command, and the others are told', async () => {
  const reload = await setUp(
    ['worker', () => Promise.reject(new TerminalError('Refused', 'it has a problem'))],
    ['report', async () => nothing],
  );
  expect(await reload()).toEqual({
    code: 1,
    stdout: `process ${process.pid} (stream, report): no workgroup has changed\n`,
    stderr: 'wattline: it has a problem\n',
  });
});

test('a reload without a service says how to start one', async () => {
  const reload = await setUp();
  const { code, stderr } = await reload();
  expect([code, stderr]).toEqual([3, expect.stringContaining('start one with "wattline up"')]);
});
