import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { queryLake } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess } from '../support/up-process.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const DAY = '2026-05-17';

test('beside a running service a correction is stored by it, reported within seconds, and survives its end', async () => {
  const cwd = tempDir();
  const service = await createUpProcess(cwd, {
    logLevel: 'silent',
    workgroups: [
      {
        id: 'home',
        timezone: 'Europe/Paris',
        devices: [{ id: DEVICE, name: 'garage' }],
        energyStreams: [
          { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
        ],
      },
    ],
  });
  await service.start();
  onTestFinished(async () => void (await service.stop()));
  const headers = { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' };
  const readings = [
    ['2026-05-16T22:00:00Z', 1_000],
    ['2026-05-17T10:00:00Z', 91_000],
    ['2026-05-17T22:00:00Z', 3_400],
  ] as const;
  const sent = await fetch(`${service.url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers,
    body: JSON.stringify(
      readings.map(([at, total_wh]) => ({ device: DEVICE, event_time: Date.parse(at), data: { total_wh } })),
    ),
  });
  expect(sent.status).toBe(200);
  const url = `${service.url}/api/v1/orgs/home`;
  const reported = async () => {
    const answer = await fetch(`${url}/daily-energy/details?startDate=${DAY}&endDate=${DAY}`, { headers });
    const days = (await answer.json()) as Record<
      string,
      Record<string, { energyWh: number; flags: string[] }>
    >;
    return days[DAY]?.[DEVICE];
  };
  const told = (what: string, wh: number) => until(what, async () => (await reported())?.energyWh === wh);
  await told('the day is reported', 93_400);

  const described = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; requestBody?: unknown }>>;
  };
  const { post, get } = described.paths['/api/v1/orgs/{workgroupId}/corrections']!;
  expect([post!.operationId, get!.operationId]).toEqual(['postCorrections', 'getCorrections']);
  const words = ['exclude', 'set', 'set_day', 'fill', 'undo', 'energyWh', 'replace'];
  expect(words.filter((word) => !JSON.stringify(post!.requestBody).includes(`"${word}"`))).toEqual([]);

  const run = (...args: string[]) => runCommand(['correct', ...args], { cwd });
  const stretch = ['--from', `${DAY}T12:00`, '--to', `${DAY}T12:01`, '--reason', 'misread'];
  const dry = await run('exclude', 'garage', ...stretch, '--dry-run', '--json');
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(dry.stdout)).toMatchObject({
    outcome: 'checked',
    correction: { days: [{ beforeWh: 93_400, afterWh: 2_400 }] },
  });
  const excluded = await runCli(['correct', 'exclude', 'garage', ...stretch, '--author', 'Anna'], { cwd });
  expect(excluded).toMatchObject({ code: 0, stderr: expect.stringContaining('the service publishes it') });
  expect(excluded.stdout).toMatch(
    /^correction 1 is stored: readings .*\n.*\n2026-05-17 +garage +default +93400 +2400 +-91000\n$/,
  );
  await told('the correction is reported', 2_400);
  expect((await reported())?.flags).toContain('corrected');

  // Two at once take turns.
  const [undo, again] = await Promise.all(
    [1, 1].map(async () => {
      const body = JSON.stringify({ kind: 'undo', correction: 1, reason: 'twice' });
      return (await fetch(`${url}/corrections`, { method: 'POST', headers, body })).status;
    }),
  );
  expect([undo, again].sort()).toEqual([200, 400]);
  await told('the undo is reported', 93_400);
  const set = await run(
    'set',
    'garage',
    '--day',
    DAY,
    '--energy',
    '2.5 kWh',
    '--reason',
    'bill',
    '--key',
    'k',
  );
  expect(set).toMatchObject({ code: 0 });
  await service.kill();

  // Without the service the command does it by itself, and publishes.
  expect(
    await run('set', 'garage', '--day', DAY, '--energy', '2.5 kWh', '--reason', 'bill', '--key', 'k'),
  ).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('was already stored with this key'),
  });
  expect((await run('undo', '3', '--reason', 'example')).stdout).toMatch(
    /^correction 4 is stored: correction 3 is undone\n/,
  );
  const rows = await queryLake(
    service.config,
    'home',
    'SELECT correction_id::INTEGER AS id, kind, author, before_wh::INTEGER AS before_wh, after_wh::INTEGER AS after_wh, undone_by::INTEGER AS undone_by FROM correction ORDER BY 1',
  );
  expect(rows).toMatchObject([
    {
      id: 1,
      kind: 'exclude',
      author: expect.stringMatching(/^Anna \(local:/),
      before_wh: 93_400,
      after_wh: 2_400,
      undone_by: 2,
    },
    { id: 2, kind: 'undo', author: expect.stringMatching(/^token:/), undone_by: null },
    { id: 3, kind: 'set_day', before_wh: 93_400, after_wh: 2_500, undone_by: 4 },
    { id: 4, kind: 'undo', before_wh: 2_500, after_wh: 93_400 },
  ]);
  expect(
    await queryLake(
      service.config,
      'home',
      `SELECT version::INTEGER AS version, energy_wh::INTEGER AS wh, causes[1] AS cause FROM daily_energy_version WHERE day = '${DAY}' AND version > 1 ORDER BY 1`,
    ),
  ).toEqual([
    { version: 2, wh: 2_400, cause: 'correction' },
    { version: 3, wh: 93_400, cause: 'correction' },
    { version: 4, wh: 2_500, cause: 'correction' },
    { version: 5, wh: 93_400, cause: 'correction' },
  ]);
  const listed = await run('list', '--in-force');
  expect(listed).toMatchObject({ code: 0, stdout: 'no corrections\n' });
}, 240_000);
