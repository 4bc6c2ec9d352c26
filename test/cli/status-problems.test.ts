import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createStatusBook } from '../../src/pipeline/status.ts';
import { systemClock } from '../../src/time.ts';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';

const config = `
dataDir: data
workgroups:
  - { id: other, energyStreams: [{ table: solar, field: e, method: interval_energy }] }
  - { id: home, energyStreams: [{ table: solar, field: e, method: total_energy, modulus: 99999, maxPower: 1 kW }] }
`;

test('status shows the problems that the worker found and those of the configuration, below the table', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  mkdirSync(join(cwd, 'data'));
  const book = createStatusBook({ dataDir: join(cwd, 'data'), clock: systemClock });
  const found = {
    path: 'workgroups.1.energyStreams.0.field',
    message: 'no message has it: correct the name',
  };
  book.note('home', { problems: [found] });
  book.flush();
  const { code, stdout } = await runCli(['status', '-w', 'home'], { cwd });
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(2)).toEqual([
    '',
    'problem: workgroups.1.energyStreams.0.field: no message has it: correct the name',
    expect.stringMatching(/^problem: workgroups\.1\.energyStreams\.0\.modulus: .* write 100000$/),
    '',
  ]);
  const json = await runCli(['status', '--json'], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject([
    { workgroupId: 'other', problems: [{ path: 'workgroups.0.energyStreams.0.interval' }] },
    { workgroupId: 'home', problems: [found, { path: 'workgroups.1.energyStreams.0.modulus' }] },
  ]);
});

test('status shows the imports that do not count, and how far they are', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  mkdirSync(join(cwd, 'data'));
  const book = createStatusBook({ dataDir: join(cwd, 'data'), clock: systemClock });
  const updatedAtMs = Date.UTC(2026, 0, 1);
  book.note('home', {
    imports: [
      { path: 'a.csv', state: 'dropped', rowsRead: 10, updatedAtMs },
      { path: 'b.csv', state: 'landing', rowsRead: 12_000, updatedAtMs },
    ],
  });
  book.flush();
  const { stdout } = await runCli(['status', '-w', 'home'], { cwd });
  expect(stdout).toMatch(
    /\nimport: home, a\.csv: given up at 2026-01-01.* after 10 rows, .* import it again\n/,
  );
  expect(stdout).toMatch(/\nimport: home, b\.csv: 12,000 rows read by 2026-01-01/);
});
