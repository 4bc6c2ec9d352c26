// @module-tag slow
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cliFile } from '../support/process-environment.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

/** A folder with a configuration without workgroups. */
function emptyService(): string {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroups: []\n');
  return cwd;
}

describe('a process that serves', () => {
  test('locks its data folder: a second service is refused, and the first continues', async () => {
    const { url, config, token, start, kill } = await createServiceProcess({
      workgroups: [{ id: 'home' }],
    });
    await start();
    const send = async () => {
      const answer = await fetch(`${url}/api/v1/tables/home/solar/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify([
          { device: '7c9e6679-7425-40de-944b-e07fc1f90ae7', event_time: 1, data: { total: 1 } },
        ]),
      });
      return answer.status;
    };
    const cwd = join(config.dataDir, '..');
    for (const role of ['up', 'stream', 'worker']) {
      const { code, stderr } = await runCommand(
        [role, '--json', ...(role === 'worker' ? [] : ['--port', '0'])],
        { cwd },
      );
      expect({ role, code, stderr: JSON.parse(stderr) }).toMatchObject({
        role,
        code: 3,
        stderr: {
          error: 'AlreadyRuns',
          retryable: true,
          message: expect.stringMatching(/in process \d+;/),
        },
      });
    }
    expect(await send()).toBe(200);
    // The lock of a process that was killed is nobody's, and what a full disk has left of one is no
    // obstacle.
    await kill();
    writeFileSync(join(config.dataDir, 'lock', 'stream.duckdb'), Buffer.alloc(4_096));
    await start();
    expect(await send()).toBe(200);
  });

  test('names the wrong setting if its data folder is a file', async () => {
    const cwd = emptyService();
    writeFileSync(join(cwd, 'data'), '');
    for (const command of [['up'], ['token', 'list']]) {
      const { code, stderr } = await runCommand(command, { cwd });
      expect({ command, code, stderr }).toEqual({
        command,
        code: 2,
        stderr: expect.stringMatching(/^ {2}dataDir: .* is not a writable folder/m),
      });
    }
  });

  test('reports an address that is not of this machine', async () => {
    const { code, stderr } = await runCommand(['stream', '--host', '203.0.113.1'], { cwd: emptyService() });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('of 203.0.113.1 cannot be used (listen EADDRNOTAVAIL: '),
    });
  });

  test.runIf(isSoak)(
    'counts signals that arrive together as one, because npm and the terminal both send them',
    async () => {
      const child = spawn(process.execPath, [cliFile, 'stream', '--port', '0'], {
        cwd: emptyService(),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      let text = '';
      child.stderr.on('data', (chunk) => {
        text += chunk;
      });
      await until('it serves', () => text.includes('stream at http'));
      // A request that is slow to arrive keeps it for seconds.
      const request = connect(Number(/127\.0\.0\.1:(\d+)/.exec(text)![1]), '127.0.0.1');
      request.on('error', () => undefined).write('POST /slow HTTP/1.1\r\nHost: a\r\n');
      await once(request, 'connect');
      child.kill('SIGINT');
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
    },
  );

  test('ends at once after a signal, even if a thread is waiting', async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'kill-child.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    const ended = await Promise.race([
      once(child, 'exit'),
      // What the thread waits for takes minutes.
      sleep(60_000, 'it goes on', { ref: false }),
    ]);
    expect(ended).toEqual([null, 'SIGTERM']);
  });
});

describe('the demo', () => {
  test('prints one JSON object and leaves nothing behind', async () => {
    const cwd = tempDir();
    const TMPDIR = join(cwd, 'tmp');
    mkdirSync(TMPDIR);
    // In the last four seconds it only waits for its messages, so it watches for one second.
    const { code, stdout } = await runCli(['demo', '--seconds', '5', '--port', '0', '--json'], {
      cwd,
      environment: { TMPDIR },
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ sent: expect.any(Number), days: expect.any(Array) });
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  test.runIf(isSoak)('ends in order if its output is closed, or if it cannot start', async () => {
    const cwd = tempDir();
    const TMPDIR = join(cwd, 'tmp');
    mkdirSync(TMPDIR);
    const environment = { TMPDIR };
    const unread = await runCli(['demo', '--port', '0'], { cwd, environment, readBytes: 1 });
    expect(unread.code).toBe(0);
    const unable = await runCli(['demo', '--host', '203.0.113.1'], { cwd, environment });
    expect(unable.code).toBe(1);
    expect(readdirSync(TMPDIR)).toEqual([]);
  });
});
