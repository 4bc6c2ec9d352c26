import { expect, test } from 'vitest';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { landStatuses } from '../warehouse/land-statuses.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

const PATH = `/api/v1/orgs/${WORKGROUP}/device-status`;
const at = (minute: number, second = 0) =>
  new Date(TEST_START_MS + minute * 60_000 + second * 1_000).toISOString();
const configured = deviceId(9);

async function setUp(): Promise<ReportFixture> {
  const fixture = await openReport({
    devices: [{ id: deviceId(1), name: 'garage' }, { id: configured }],
    deviceGroups: { tenants: [deviceId(2), configured] },
  });
  // All messages of these tests are stored before the clock.
  fixture.clock.set(TEST_START_MS + 11 * 60_000);
  await landStatuses(fixture.shard, 0, [
    [1, 'online', 'data received'],
    [1, 'data'],
    [2, 'offline', 'timeout'],
    [3, 'data'],
  ]);
  await publish(fixture);
  return fixture;
}

async function publish(fixture: ReportFixture): Promise<void> {
  await fixture.shard.transaction((connection) => noteDeviceStatus(connection, fixture.clock.now()));
  await fixture.publish();
}

const one = { name: 'garage', state: 'online', since: at(0, 1), reason: 'data received', lastSeen: at(1) };
const two = { state: 'offline', since: at(2, 1), reason: 'timeout', lastSeen: null };
const three = { state: 'unknown', since: null, reason: null, lastSeen: at(3) };
const nine = { state: 'unknown', since: null, reason: null, lastSeen: null };

test('each device has its state with start and reason, and the time of its last message', {
  tags: ['slow'],
}, async () => {
  const fixture = await setUp();
  const ask = async (query: string, token = fixture.token) =>
    (await fixture.get(PATH + query, { token })).json() as Promise<Record<string, unknown>>;
  const all = { [deviceId(1)]: one, [deviceId(2)]: two, [deviceId(3)]: three, [configured]: nine };
  expect(await ask('')).toEqual(all);
  expect(Object.keys(await ask(''))).toEqual(Object.keys(all));
  expect(await ask('?state=offline')).toEqual({ [deviceId(2)]: two });
  expect(await ask(`?devices=${deviceId(1)},${deviceId(3)}&state=online`)).toEqual({ [deviceId(1)]: one });
  const tenant = await fixture.issue({ permissions: ['search:read'], deviceGroups: ['tenants'] });
  expect(await ask('', tenant)).toEqual({ [deviceId(2)]: two, [configured]: nine });
  expect(await ask(`?devices=${deviceId(1)}`, tenant)).toMatchObject({ status: 400, parameter: 'devices' });
});

test('before anything is published the configured devices are unknown', async () => {
  const fixture = await openReport({ devices: [{ id: configured }] });
  expect(await (await fixture.get(PATH)).json()).toEqual({ [configured]: nine });
});

test('the answer is validated by its tag, which changes with it', { tags: ['slow'] }, async () => {
  const fixture = await setUp();
  const first = await fixture.get(PATH);
  const tag = first.headers.get('etag')!;
  const again = () => fixture.get(PATH, { headers: { 'If-None-Match': tag } });
  expect((await again()).status).toBe(304);
  await landStatuses(fixture.shard, 10, [[1, 'offline']]);
  await publish(fixture);
  const changed = await again();
  expect(changed.status).toBe(200);
  expect(await changed.json()).toMatchObject({
    [deviceId(1)]: { state: 'offline', since: at(10, 1), reason: null },
  });
  // A new name is a new answer, although nothing was published.
  const named = { 'If-None-Match': changed.headers.get('etag')! };
  expect((await fixture.get(PATH, { headers: named })).status).toBe(304);
  fixture.workgroup.devices[0]!.name = 'barn';
  const renamed = await fixture.get(PATH, { headers: named });
  expect(await renamed.json()).toMatchObject({ [deviceId(1)]: { name: 'barn' } });
});

test('missing permissions and invalid parameters have the usual errors', { tags: ['slow'] }, async () => {
  const fixture = await setUp();
  expect((await fixture.get(PATH, { token: undefined })).status).toBe(401);
  const sender = await fixture.issue({ permissions: ['data:write'] });
  expect((await fixture.get(`${PATH}?state=nonsense`, { token: sender })).status).toBe(403);
  for (const query of ['?state=nonsense', '?state=online&state=offline', '?devices=x']) {
    const answer = await fixture.get(PATH + query);
    expect([query, answer.status, await answer.json()]).toMatchObject([
      query,
      400,
      { error: 'InvalidRequest' },
    ]);
  }
  expect((await fixture.app.inject({ method: 'POST', url: PATH })).statusCode).toBe(405);
});
