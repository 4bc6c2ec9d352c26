import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS, systemClock } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { DEVICE, fileOf, importInto } from '../import/import-fixture.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const config = `
dataDir: data
workgroups:
  - { id: other, energyStreams: [{ table: solar, field: e, method: interval_energy }] }
  - { id: home, energyStreams: [{ table: solar, field: e, method: total_energy, modulus: 99999, maxPower: 1 kW }] }
`;

test('status shows the problems that the worker found and the problems of the configuration, below the table', {
  tags: ['slow'],
}, async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  mkdirSync(join(cwd, 'data'));
  const book = createStatusBook({ dataDir: join(cwd, 'data'), clock: systemClock, logger: silentLogger });
  const found = {
    path: 'workgroups.1.energyStreams.0.field',
    message: 'no message has it: correct the name',
  };
  book.note('home', { problems: [found] });
  await book.flush();
  const { code, stdout } = await runCli(['status', '-w', 'home'], { cwd });
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(2)).toEqual([
    '',
    'problem: workgroups.1.energyStreams.0.field: no message has it: correct the name',
    expect.stringMatching(/^problem: workgroups\.1\.energyStreams\.0\.modulus: .* write 100000$/),
    '',
  ]);
  const json = await runCommand(['status', '--json'], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject([
    { workgroupId: 'other', problems: [{ path: 'workgroups.0.energyStreams.0.interval' }] },
    { workgroupId: 'home', problems: [found, { path: 'workgroups.1.energyStreams.0.modulus' }] },
  ]);
  const checked = await runCommand(['config', 'check'], { cwd });
  expect(checked.code).toBe(0);
  expect(checked.stderr).toMatch(
    /warning: workgroups\.1\.energyStreams\.0\.field: no message has it: correct the name \(found in the data at \d{4}-/,
  );
});

test('status shows ages in a unit that suits their length', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  mkdirSync(join(cwd, 'data'));
  for (const [id, minutes] of [
    ['other', 42],
    ['home', 100 * 60],
  ] as const) {
    const clock = { now: () => systemClock.now() - minutes * MINUTE_MS };
    const book = createStatusBook({ dataDir: join(cwd, 'data'), clock, logger: silentLogger });
    book.update(id, 'poll', { lastSuccessAtMs: clock.now() });
    await book.flush();
  }
  const { stdout } = await runCommand(['status'], { cwd });
  expect(stdout).toMatch(/^other +stopped .* 42 min ago /m);
  expect(stdout).toMatch(/^home +stopped .* 4 d ago /m);
});

test('status shows the imports that do not count, and that nobody works on them any more', {
  tags: ['slow'],
}, async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  const nothing = await runCommand(['status'], { cwd });
  expect(nothing).toMatchObject({ code: 3 });
  const path = join(cwd, 'data', 'warehouse', 'home.duckdb');
  const shard = await openTestShard({ path, workgroupId: 'home' });
  const rows = Array.from({ length: 6_000 }, (_, row) => `${1_700_000_000 + row},${row}\n`);
  const file = fileOf('a.csv', `time,e\n${rows.join('')}`);
  const controller = new AbortController();
  const importing = importInto(
    shard,
    file,
    { time: { column: 'time', format: 'seconds' }, device: { id: DEVICE }, fields: { e: 'e' } },
    {
      batchRows: 2_048,
      signal: controller.signal,
      onProgress: ({ rowsLanded }) => rowsLanded > 0 && controller.abort(),
    },
  );
  await expect(importing).rejects.toThrow(/This operation was aborted/);
  await shard.close();
  // No worker has ever run here.
  const { code, stdout } = await runCommand(['status', '-w', 'home'], { cwd });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^home +never run/m);
  expect(stdout).toContain(`\nimport: home, ${file}: stopped at `);
  const json = await runCommand(['status', '-w', 'home', '--json'], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject([{ imports: [{ state: 'landing', isUnderWay: false }] }]);
});
