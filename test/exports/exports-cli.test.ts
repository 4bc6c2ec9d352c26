// @module-tag slow
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parsePeriod } from '../../src/exports/export-period.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { openExportFixture } from './exports-fixture.ts';

test('exports are listed, shown, run and corrected from the command line, and status shows failures', async () => {
  const hook = {
    url: 'http://127.0.0.1:1/in?key=hidden-key',
    headers: { Authorization: 'Bearer hidden-token' },
    secret: 'hidden-secret',
  };
  const at = await openExportFixture([{}, { id: 'push', destination: { webhook: hook } }]);
  const day = { day: '2024-05-01', device: 1, energyWh: 1_000 };
  await storeDays(at.shard, [day]);
  await at.publish();
  const signal = new AbortController().signal;
  await at.exports.run('export1', { period: parsePeriod('2024-05-01')!, corrected: false }, signal);
  await storeDays(at.shard, [{ ...day, energyWh: 1_677 }]);
  await at.publish();
  await at.clock.advance(HOUR_MS);
  await at.work();

  const book = createStatusBook({ dataDir: at.dataDir, clock: systemClock, logger: silentLogger });
  book.note(WORKGROUP, {});
  await book.flush();
  const run = (...args: string[]) => runCommand(args, { cwd: at.dataDir });
  const [refused, listed, shown, unknown] = await Promise.all([
    runCli(['exports', 'run', 'push', '--period', '2024-05-01'], { cwd: at.dataDir }),
    run('exports', 'list'),
    run('exports', 'show', 'export1', '--period', '2024-05-01'),
    run('exports', 'run', 'export1', '--period', '2024-02-30'),
  ]);
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toMatch(
    /^wattline: 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\); the file is kept, and a worker sends it again after [\dT:-]+Z\n$/,
  );
  const note =
    'export1: the data of a file have changed after delivery by +677 Wh; "wattline exports show export1" lists them, and "wattline exports run export1 --period <period> --corrected" makes a new one\n';
  expect(listed.stdout).toContain(`\n${note}`);
  expect(listed.stderr).toBe('');
  expect(listed.stdout).toContain('webhook at 127.0.0.1:1\n');
  expect(shown.stdout).toMatch(/Day +Exported Wh +Now Wh\n +2024-05-01 +1,000 +1,677\n/);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('"2024-02-30" is not a day') });

  const [status, pushed] = await Promise.all([run('status'), run('exports', 'show', 'push', '--json')]);
  expect(status.stdout).toContain(`export: ${WORKGROUP}, ${note}`);
  expect(status.stdout).toContain(`export: ${WORKGROUP}, push, 2024-05-01: 127.0.0.1:1 does not answer`);
  const corrected = await run('exports', 'run', 'export1', '--period', '2024-05-01', '--corrected', '--json');
  expect(JSON.parse(corrected.stdout)).toMatchObject({ revision: 2, reason: 'correction', already: false });
  expect(readFileSync(join(at.target, 'export1_2024-05-01_r2.csv'), 'utf8')).toContain(',1677,');
  expect(JSON.parse(pushed.stdout)).toMatchObject([{ state: 'waiting', attempts: 1 }]);

  // The corrected period is delivered, so nothing is written again.
  const again = await run('exports', 'run', 'export1', '--period', '2024-05-01');
  expect([again.code, again.stderr]).toEqual([
    0,
    expect.stringContaining('already delivered, nothing to do'),
  ]);
  const revisions = async (...args: string[]) =>
    JSON.parse((await run('exports', 'show', 'export1', '--json', ...args)).stdout).length;
  await at.exports.run('export1', { period: parsePeriod('2024-05-02')!, corrected: false }, signal);
  expect([await revisions(), await revisions('--period', '2024-05-02')]).toEqual([3, 1]);
  expect((await run('exports', 'show', 'export1')).stdout).toMatch(/^Run +State /);
  expect(await run('exports', 'show', 'export1', '--period', '2024-05-03')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('export export1 has no run of 2024-05-03'),
  });
  const files = readdirSync(join(at.dataDir, 'exports'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
  expect(files.length).toBeGreaterThan(3);
  expect(JSON.stringify([refused, listed, status, pushed, files])).not.toContain('hidden');
});
