import { expect, test } from 'vitest';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport } from './report-fixture.ts';

const garage = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const roof = '0b0e7c1e-0000-4000-8000-000000000001';

test('a workgroup says its time zone and the sites that the token can see as a whole', async () => {
  const at = await openReport({
    timezone: 'Europe/Paris',
    deviceGroups: { garage: [garage] },
    meters: [{ code: 'GRID-1', name: 'street' }],
    sites: [
      { name: 'home', meters: [{ code: 'GRID-1' }], devices: [{ id: roof }] },
      { name: 'yard', meters: [], devices: [{ id: garage }] },
    ],
  } as never);
  const path = `/api/v1/orgs/${WORKGROUP}/workgroup`;
  const answer = await at.get(path);
  expect(await answer.json()).toEqual({
    workgroup: WORKGROUP,
    timezone: 'Europe/Paris',
    meters: [{ code: 'GRID-1', name: 'street' }],
    sites: [
      { name: 'home', meters: 1, devices: 1 },
      { name: 'yard', meters: 0, devices: 1 },
    ],
  });
  const again = await at.get(path, { headers: { 'If-None-Match': answer.headers.get('etag')! } });
  expect(again.status).toBe(304);

  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  expect(await (await at.get(path, { token })).json()).toMatchObject({
    meters: [],
    sites: [{ name: 'yard' }],
  });
  expect((await at.get(path, { token: undefined })).status).toBe(401);
  expect((await at.get('/api/v1/orgs/other/workgroup')).status).toBe(403);
  expect((await at.get(`${path}?zone=1`)).status).toBe(400);
});
