import { expect, test } from 'vitest';
import type { StatusAnswer } from '../../src/operate/status-schema.ts';
import { runCommand } from '../support/run-command.ts';
import { GARAGE, homeWorkgroup, openService, ROOF, readings } from './support.ts';

test('the status has one state with its reason, and the facts of the command line', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  await at.send([
    ...readings(GARAGE, ['2026-05-16T22:00:00Z', 1_000], ['2026-05-17T10:00:00Z', 2_000]),
    ...readings(ROOF, ['2026-05-17T11:00:00Z', 7]),
  ]);
  const status = await at.untilAnswer<StatusAnswer>(
    'status',
    ({ storedMessages, newestReadingAt }) => storedMessages === 3 && newestReadingAt !== null,
  );
  expect(status).toMatchObject({
    workgroup: 'home',
    timezone: 'Europe/Paris',
    state: 'running',
    health: 'good',
    reason: 'all is well',
    findings: [],
    newestReadingAt: '2026-05-17T11:00:00.000Z',
    lastHour: { messages: 3, quarantined: 0 },
    gaps: 0,
    quarantined: 0,
    troubles: [],
    problems: [],
    stages: { poll: { transport: 'rest', upToDate: true, lagMessages: 0, lastError: null } },
  });
  const cli = await runCommand(['status', '--json'], { cwd: at.cwd });
  const [listed] = JSON.parse(cli.stdout) as [Record<string, never>];
  expect(listed).toMatchObject({
    state: status.state,
    storedMessages: 3,
    lastHour: status.lastHour,
    newestReadingAtMs: Date.parse(status.newestReadingAt!),
    publish: { generation: expect.any(Number) },
  });

  const text = await at.get('status');
  const again = await at.get('status', { headers: { 'If-None-Match': text.etag! } });
  expect([200, 304]).toContain(again.status);
});

test('the status needs a token for the whole workgroup', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  const group = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  const writer = await at.issue({ permissions: ['data:write'] });
  const of = async (path: string, token: string) => (await at.get(path, { token })).status;
  for (const path of ['status', 'gaps', 'backfills', 'imports', 'exports', 'audit']) {
    expect([path, await of(path, group)]).toEqual([path, 403]);
    expect([path, await of(path, writer)]).toEqual([path, 403]);
    expect([path, await of(path, 'x')]).toEqual([path, 401]);
    expect([path, await of(`${path}?strange=1`, at.service.token)]).toEqual([path, 400]);
  }
  expect((await at.ask('PUT', 'status')).status).toBe(405);
});
