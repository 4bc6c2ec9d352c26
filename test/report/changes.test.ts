import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { DAY_MS } from '../../src/lib/time.ts';
import { dayChangesSchema } from '../../src/report/day-changes.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type EnergySite, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { runCommand } from '../support/run-command.ts';
import { shared } from '../support/shared.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

type DayChanges = z.output<typeof dayChangesSchema>;

const PATH = `/api/v1/orgs/${WORKGROUP}/daily-energy/changes`;
const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'energy', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' }],
  closeAfterMs: 2 * DAY_MS,
};

/** Lands readings of November, rolls up and publishes at an instant. */
async function at(
  fixture: ReportFixture,
  time: string,
  readings: Array<[device: number, time: string, energy: number]>,
) {
  fixture.clock.set(Date.parse(`2026-11-${time}:00Z`));
  if (readings.length > 0)
    await landReadings(
      fixture.shard,
      readings.map(([device, when, energy]) => ({
        event_time: `2026-11-${when}:00Z`,
        device: deviceId(device),
        source: 'roof',
        data: { energy },
      })),
    );
  await rollUpSite(fixture.shard, site, fixture.clock.now());
  await fixture.publish();
}

/**
 * Days that are final, of the first device one with a change from before; then late readings restate two and
 * add one of the second device.
 */
async function setUp(): Promise<ReportFixture> {
  const fixture = await openReport({
    devices: [{ id: deviceId(1), name: 'garage' }],
    deviceGroups: { tenants: [deviceId(2)] },
  });
  const of = (device: number): Array<[number, string, number]> => [
    [device, '01T00:00', 0],
    [device, '02T00:00', 2400],
    [device, '03T00:00', 4800],
  ];
  await at(fixture, '03T01:00', [...of(1), ...of(2)]);
  await at(fixture, '03T02:00', [[1, '03T00:00', 4900]]);
  await at(fixture, '09T00:00', []);
  await at(fixture, '10T00:00', [
    [1, '02T00:00', 2500],
    [2, '04T00:00', 5000],
  ]);
  return fixture;
}

const changed = shared(setUp);

const first = {
  day: '2026-11-01',
  device: deviceId(1),
  source: 'roof',
  kind: 'restated',
  before: { version: 1, energyWh: 2400, method: 'total_energy', flags: [], coverage: 1 },
  after: { version: 2, energyWh: 2500, method: 'total_energy', flags: [], coverage: 1, status: 'restated' },
  differenceWh: 100,
  versions: 1,
  changedAt: '2026-11-10T00:00:00.000Z',
  causes: ['stream'],
  batch: expect.any(String),
};
const second = {
  day: '2026-11-02',
  kind: 'restated',
  before: { version: 2, energyWh: 2500 },
  after: { version: 3, energyWh: 2400 },
  differenceWh: -100,
};
const added = {
  day: '2026-11-03',
  device: deviceId(2),
  source: 'roof',
  kind: 'added',
  before: null,
  after: { version: 1, energyWh: 200, status: 'final' },
  differenceWh: 200,
  causes: ['stream'],
};

test('changes of final days are listed with old and new energy, causes and totals', async () => {
  const fixture = changed();
  const ask = async (query: string) => (await fixture.get(`${PATH}?${query}`)).json();
  const all = await ask('since=2026-11-03');
  expect(dayChangesSchema.parse(all)).toMatchObject({
    since: '2026-11-03T00:00:00.000Z',
    until: null,
    totals: { days: 3, beforeWh: 4900, afterWh: 5100, differenceWh: 200 },
    changes: [first, second, added],
  });
  // The clock of the test is at midnight of 2026-11-10.
  expect(await ask('since=today')).toMatchObject({ since: '2026-11-10T00:00:00.000Z', totals: { days: 3 } });
  expect(await ask('since=yesterday&until=yesterday')).toMatchObject({
    since: '2026-11-09T00:00:00.000Z',
    until: '2026-11-10T00:00:00.000Z',
    changes: [],
  });
  expect(await ask('since=2026-11-10T00:00:00.001Z')).toMatchObject({ totals: { days: 0 }, changes: [] });
  expect(await ask('since=2026-11-03&until=2026-11-09')).toMatchObject({ changes: [] });
  expect(await ask('since=2026-11-03&until=2026-11-10')).toMatchObject({ changes: [first, second, added] });
  expect(await ask(`since=2026-11-03&devices=${deviceId(2)}`)).toMatchObject({ changes: [added] });
});

test('changes have pages, and the totals cover all pages', async () => {
  const fixture = changed();
  const ask = async (query: string) =>
    (await (await fixture.get(`${PATH}?since=2026-11-03&${query}`)).json()) as DayChanges;
  const all = await ask('limit=100000');
  expect(all.next).toBeNull();
  const seen = [];
  for (let next: string | null = '', page = 0; next !== null; page += 1) {
    const answer: DayChanges = await ask(`limit=1${next && `&page=${next}`}`);
    expect(answer.totals).toEqual(all.totals);
    expect(answer.changes).toHaveLength(1);
    seen.push(...answer.changes);
    next = answer.next;
    expect(page).toBeLessThan(3);
  }
  expect(seen).toEqual(all.changes);
  const rows = await fixture.get(`${PATH}?since=2026-11-03&limit=2&format=csv`);
  const next = rows.headers.get('wattline-next');
  const lines = (await rows.text()).trim().split('\r\n');
  expect(lines).toHaveLength(3);
  expect(lines[1]).toContain(`2026-11-01,${deviceId(1)},garage,roof,restated,2400,2500,`);
  const rest = await fixture.get(`${PATH}?since=2026-11-03&limit=2&format=csv&page=${next}`);
  expect([(await rest.text()).trim().split('\r\n').length, rest.headers.get('wattline-next')]).toEqual([
    2,
    null,
  ]);
  for (const wrong of ['limit=0', 'limit=100001', 'limit=x', 'page=x', 'page=W10'])
    expect([wrong, (await fixture.get(`${PATH}?since=2026-11-03&${wrong}`)).status]).toEqual([wrong, 400]);
});

test('changes of days that were not final are listed only on request', async () => {
  const fixture = changed();
  const ask = async (query: string) => (await fixture.get(`${PATH}?since=2026-11-03&${query}`)).json();
  expect(await ask('provisional=true&until=2026-11-04')).toMatchObject({
    changes: [
      {
        day: '2026-11-02',
        kind: 'provisional',
        differenceWh: 100,
        before: { version: 1 },
        after: { status: 'provisional' },
      },
    ],
  });
  // A day with several versions is one change, from before the first to after the last.
  expect(await ask('provisional=true')).toMatchObject({
    changes: [
      first,
      { day: '2026-11-02', before: { version: 1 }, after: { version: 3 }, versions: 2 },
      added,
    ],
  });
});

test('the details of a restated day have its status', async () => {
  const fixture = changed();
  const details = await fixture.get(
    `/api/v1/orgs/${WORKGROUP}/daily-energy/details?startDate=2026-11-01&endDate=2026-11-02&devices=${deviceId(1)}`,
  );
  expect(await details.json()).toMatchObject({
    '2026-11-01': { [deviceId(1)]: { status: 'restated', version: 2 } },
  });
});

test.each([
  '',
  'since=someday',
  'since=2026-11-01T00:00',
  'since=2026-02-30',
  'since=9999-12-31T23:00:00-12:00',
  'since=0000-01-01T00:00:00%2B12:00',
  'since=2026-11-01&until=999999999999999',
  'since=2026-11-01&until=',
  'since=2026-11-02&until=2026-11-01',
  'since=2026-11-01&provisional=no',
])('what cannot be asked is refused: %s', async (query) => {
  const answer = await changed().get(`${PATH}?${query}`);
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'InvalidRequest' }]);
});

test('the command has the same changes, of one device, until an instant and of days that were not final', {
  tags: ['slow'],
}, async () => {
  const { dataDir: cwd } = changed();
  const configuration = {
    dataDir: cwd,
    workgroups: [{ id: WORKGROUP, devices: [{ id: deviceId(1), name: 'garage' }] }],
  };
  writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify(configuration));
  const run = (...args: string[]) => runCommand(['changes', '--since', '2026-11-03', ...args], { cwd });
  const table = await run();
  expect(table.stdout).toMatch(/^2026-11-01 +garage +roof +2400 +2500 +\+100 +restated /m);
  expect(table.stdout).toContain('\n3 days: 4900 Wh before, 5100 Wh after, +200 Wh\n');
  const changesOf = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);
  expect(await changesOf('--device', 'garage')).toMatchObject({
    workgroupId: WORKGROUP,
    until: null,
    totals: { days: 2 },
    changes: [first, second],
  });
  expect(await changesOf('--until', '2026-11-03', '--all')).toMatchObject({
    until: '2026-11-04T00:00:00.000Z',
    changes: [{ day: '2026-11-02', kind: 'provisional' }],
  });
});

test('a day that was added and withdrawn since then is no change', { tags: ['slow'] }, async () => {
  const fixture = await openReport();
  await at(fixture, '01T01:00', [
    [1, '01T00:00', 0],
    [1, '02T00:00', 2400],
  ]);
  await at(fixture, '09T00:00', []);
  const none = { ...site, streams: [] };
  fixture.clock.set(Date.UTC(2026, 10, 10));
  await rollUpSite(fixture.shard, none, fixture.clock.now());
  await fixture.publish();
  const changesSince = async (since: string) =>
    (await fixture.get(`${PATH}?since=${since}&provisional=true`)).json();
  expect(await changesSince('2026-11-02')).toMatchObject({ changes: [{ kind: 'withdrawn' }] });
  expect(await changesSince('2026-11-01')).toMatchObject({ totals: { days: 0 }, changes: [] });
});

// This test comes last, because it changes a day.
test('a token sees the changes of its devices, and the tag of an answer changes with it', {
  tags: ['slow'],
}, async () => {
  const fixture = changed();
  const token = await fixture.issue({ permissions: ['search:read'], deviceGroups: ['tenants'] });
  const answer = await fixture.get(`${PATH}?since=2026-11-03`, { token });
  expect(await answer.json()).toMatchObject({ changes: [added] });
  const headers = { 'If-None-Match': answer.headers.get('etag')! };
  expect((await fixture.get(`${PATH}?since=2026-11-03`, { token, headers })).status).toBe(304);
  expect((await fixture.get(`${PATH}?since=2026-11-03`, { headers })).status).toBe(200);
  await at(fixture, '11T00:00', [[2, '02T00:00', 2300]]);
  expect((await fixture.get(`${PATH}?since=2026-11-03`, { token, headers })).status).toBe(200);
  const sender = await fixture.issue({ permissions: ['data:write'] });
  expect((await fixture.get(`${PATH}?since=2026-11-03`, { token: sender })).status).toBe(403);
});
