import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { describeProcess, processFacts } from '../../src/lib/process-facts.ts';
import { until } from '../support/until.ts';

test.skipIf(!existsSync('/proc/self/stat'))(
  'a process that a signal has stopped is described as stopped, with the command that continues it',
  async () => {
    const child = spawn('sleep', ['600']);
    onTestFinished(() => void child.kill('SIGKILL'));
    const pid = child.pid!;
    expect(processFacts(pid)?.isStopped).toBe(false);
    child.kill('SIGSTOP');
    await until('it has stopped', () => processFacts(pid)?.isStopped === true);
    expect(describeProcess(pid, 'worker')).toMatch(
      new RegExp(`^process ${pid} \\(worker\\), started at .*, which is stopped .* "kill -CONT ${pid}"`),
    );
  },
);
