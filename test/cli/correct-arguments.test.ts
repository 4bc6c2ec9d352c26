import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const DAY = '2026-05-17';

test('wrong arguments of a correction are reported at once', async () => {
  const cwd = tempDir();
  const run = (...args: string[]) => runCommand(['correct', ...args], { cwd });
  const of = ['garage', '--reason', 'x'];
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    `workgroups:\n  - { id: home, timezone: Europe/Paris, devices: [{ id: ${DEVICE}, name: garage }] }\n`,
  );
  for (const [args, message] of [
    [['set', ...of, '--day', DAY, '--energy', '5'], /--energy: "5" is not an energy/],
    [['exclude', ...of, '--from', DAY, '--to', DAY], /--from: "2026-05-17" is not a time/],
    [
      ['exclude', ...of, '--from', '2026-10-25T02:30', '--to', '2026-10-25T04:00'],
      /show 2026-10-25 02:30 twice/,
    ],
    [
      ['exclude', ...of, '--from', '2026-03-29T02:30', '--to', '2026-03-29T04:00'],
      /because they are put forward/,
    ],
    [['undo', 'one', '--reason', 'x'], /"one" is not the number of a correction/],
    [['exclude', 'shed', '--day', DAY, '--reason', 'x'], /"shed" is neither a device id/],
  ] as const) {
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  }
  expect((await runCli(['correct', 'undo', 'one', '--reason', 'x'], { cwd })).code).toBe(2);
});
