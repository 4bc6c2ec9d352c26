import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localActor } from '../../src/audit/local-actor.ts';
import { TerminalError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { createControlServer } from '../../src/worker-rpc/control-server.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const OTHER = '7c9e6679-7425-40de-944b-e07fc1f90ae8';
const DAY = '2026-05-17';

const settings = `workgroups:
  - { id: home, timezone: Europe/Paris, devices: [{ id: ${DEVICE}, name: garage }, { id: ${OTHER}, name: roof }] }
`;

/** What a command asks of a running service. This one does nothing but to note it. */
async function askedBy(...args: string[]): Promise<unknown[]> {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), settings);
  const asked: unknown[] = [];
  const run = async (...[, operation, of]: Parameters<Pipeline['run']>) => {
    if (operation !== 'status') asked.push(of);
    throw new TerminalError('Noted', 'the service has noted it');
  };
  const control = createControlServer({
    dataDir: join(cwd, 'data'),
    pipeline: { run },
    logger: silentLogger,
  });
  onTestFinished(() => control.end());
  await control.open('home');
  const { stderr } = await runCommand(['correct', ...args], { cwd });
  expect(stderr).toContain('the service has noted it');
  return asked;
}

test('wrong arguments of a correction are reported at once', { tags: ['slow'] }, async () => {
  const cwd = tempDir();
  const run = (...args: string[]) => runCommand(['correct', ...args], { cwd });
  const of = ['garage', '--reason', 'x'];
  writeFileSync(join(cwd, 'wattline.yaml'), settings);
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

const all = ['--reason', 'misread', '--source', 'pv', '--key', 'k', '--author', 'Anna', '--dry-run'];
const least = ['garage', '--reason', 'misread', '--day', DAY];
const hour = ['--from', `${DAY}T13:00`, '--to', `${DAY}T12:00:00Z`];
const asAll = { author: `Anna (${localActor()})`, dryRun: true };
const asLeast = { author: localActor(), dryRun: false };
const ofAll = { device: DEVICE, source: 'pv', reason: 'misread', key: 'k' };
const ofLeast = { device: DEVICE, source: 'default', reason: 'misread', key: expect.any(String) };
const inDay = { fromMs: Date.UTC(2026, 4, 16, 22), toMs: Date.UTC(2026, 4, 17, 22) };
const inHour = { fromMs: Date.UTC(2026, 4, 17, 11), toMs: Date.UTC(2026, 4, 17, 12) };

test.each<[what: string, args: string[], request: object, as?: object]>([
  [
    'exclude with all options',
    ['exclude', 'garage', ...all, ...hour, '--table', 'solar', '--field', 'total_wh'],
    { kind: 'exclude', ...ofAll, ...inHour, table: 'solar', field: 'total_wh' },
    asAll,
  ],
  ['exclude with the least', ['exclude', ...least], { kind: 'exclude', ...ofLeast, ...inDay }],
  [
    'set with all options',
    ['set', 'garage', ...all, ...hour, '--energy', '2 kWh'],
    { kind: 'set', ...ofAll, ...inHour, energyWh: 2_000 },
    asAll,
  ],
  [
    'set of a day',
    ['set', ...least, '-e', '3.5 MWh'],
    { kind: 'set_day', ...ofLeast, day: DAY, energyWh: 3_500_000 },
  ],
  [
    'fill with all options',
    ['fill', 'garage', ...all, ...hour, '--like', 'roof/east', '--replace'],
    { kind: 'fill', ...ofAll, ...inHour, like: { device: OTHER, source: 'east' }, replace: true },
    asAll,
  ],
  ['fill with the least', ['fill', ...least], { kind: 'fill', ...ofLeast, ...inDay, replace: false }],
  [
    'undo with all options',
    ['undo', '7', '--reason', 'misread', '--key', 'k', '--author', 'Anna', '--dry-run'],
    { kind: 'undo', correctionId: 7, reason: 'misread', key: 'k' },
    asAll,
  ],
  [
    'undo with the least',
    ['undo', '7', '--reason', 'misread'],
    { kind: 'undo', correctionId: 7, reason: 'misread', key: expect.any(String) },
  ],
])('each option is a member of the request: %s', async (_, args, request, as = asLeast) => {
  expect(await askedBy(...args)).toStrictEqual([{ request, ...as }]);
});

test('each option of the list chooses', async () => {
  const options = ['--device', 'garage', '--source', 'pv', '--day', DAY, '--in-force'];
  const chosen = { devices: [DEVICE], source: 'pv', day: DAY, inForce: true };
  expect(await askedBy('list', ...options)).toStrictEqual([{ ...chosen, limit: 1_000 }]);
  expect(await askedBy('list')).toStrictEqual([{ inForce: false, limit: 1_000 }]);
});
