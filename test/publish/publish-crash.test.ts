// @module-tag slow
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { publishAndRenew } from './publish-and-renew.ts';
import { openFixture, rows } from './publish-fixture.ts';

const KILLS = rounds(4, 9);

interface Running {
  child: ChildProcess;
  output: () => string;
  /** Waits until the output has that many such lines. */
  lines(text: string, count: number): Promise<void>;
}

function start(script: string, argument: string): Running {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), argument], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const lines = (text: string, count: number) =>
    until(`${script} says "${text}" ${count} times`, () => {
      if (child.exitCode !== null) throw new Error(`${script} has ended: ${output}`);
      return output.split('\n').filter((line) => line === text).length >= count;
    });
  return { child, output: () => output, lines };
}

test('killed at any moment, the lake stays consistent for every reader and loses and doubles nothing', async () => {
  const dataDir = tempDir();
  const reader = start('read-forever.ts', join(dataDir, 'lake'));
  await reader.lines('ready', 1);
  for (let kill = 0; kill < KILLS; kill++) {
    const worker = start('publish-forever.ts', dataDir);
    await worker.lines('ready', 1);
    await worker.lines('published', kill % 3);
    await sleep(Math.random() * 150);
    worker.child.kill('SIGKILL');
    if (worker.child.exitCode === null && worker.child.signalCode === null) await once(worker.child, 'exit');
    expect(worker.child.signalCode, worker.output()).toBe('SIGKILL');
  }

  const at = await openFixture(dataDir, createTestClock());
  onTestFinished(() => at.shard.close());
  await publishAndRenew(at.shard, {
    lakeDir: at.lakeDir,
    currentEveryMs: 0,
    clock: systemClock,
    logger: silentLogger,
  });
  const warehouse = await at.shard.transaction((connection) =>
    rows(
      connection,
      `SELECT (SELECT count(*) FROM message), (SELECT bit_xor(hash(stream_offset)) FROM message),
         (SELECT sum(energy_wh)::BIGINT FROM daily_energy), (SELECT sum(energy_wh)::BIGINT FROM interval_energy)`,
    ),
  );
  const lake = await at.analyse(
    `SELECT (SELECT count(*) FROM messages), (SELECT bit_xor(hash(stream_offset)) FROM messages),
       (SELECT sum(energy_wh)::BIGINT FROM daily_energy), (SELECT sum(energy_wh)::BIGINT FROM interval_energy)`,
  );
  expect(lake).toEqual(warehouse);
  expect(Number(warehouse[0]![0])).toBeGreaterThan(0);

  await reader.lines(String((await at.head()).sequence), 1);
});
