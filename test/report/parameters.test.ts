import { expect, test } from 'vitest';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { budget, budgets, openMeters } from './meter-support.ts';

const range = 'startDate=2026-05-01&endDate=2026-05-02';

interface Document {
  paths: Record<
    string,
    { get?: { parameters: Array<{ name: string; in: string; required?: boolean; example?: unknown }> } }
  >;
}

/** A report with a site and a budget, and a question to each of its addresses that is complete. */
async function openEverything() {
  const at = await openMeters({
    sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }], devices: [{ id: deviceId(1) }] }],
    deviceGroups: { none: [] },
  });
  await at.put(budgets(budget('GRID-1', '2026', 365)));
  const document = (await (await at.get('/openapi.json', { token: undefined })).json()) as Document;
  const values: Record<string, string> = {
    startDate: '2026-05-01',
    endDate: '2026-05-02',
    since: '2026-05-01',
    device: deviceId(1),
    day: '2026-05-01',
  };
  const addresses = Object.entries(document.paths).flatMap(([path, { get }]) => {
    if (!get || !path.startsWith('/api/v1/orgs/')) return [];
    const needed = get.parameters.filter(({ in: place, required }) => place === 'query' && required);
    const query = needed.map(({ name }) => `${name}=${values[name]!}`).join('&');
    return [
      {
        path: path.slice('/api/v1/orgs/{workgroupId}/'.length).replace('{site}', 'roof'),
        query,
        names: get.parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name),
      },
    ];
  });
  return { at, addresses };
}

const everything = shared(openEverything);

test('every report refuses an unknown parameter, also beside other errors', async () => {
  const { at, addresses } = everything();
  expect(addresses.length).toBeGreaterThanOrEqual(11);
  for (const { path, query } of addresses) {
    const known = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}?${query}`);
    // No worker explains a day here, and nothing has energy that could be balanced.
    const status = path.endsWith('explain') ? 503 : path.endsWith('balance') ? 404 : 200;
    expect([path, known.status]).toEqual([path, status]);
    for (const asked of [`${query}&frobnicate=1`, 'frobnicate=1', `frobnicate=&frobnicate=2&${query}`]) {
      const refusal = await at.refusal(`${path}?${asked}`);
      expect([path, asked, refusal]).toEqual([
        path,
        asked,
        expect.objectContaining({ error: 'InvalidRequest', status: 400, parameter: 'frobnicate' }),
      ]);
      expect(refusal.message).toMatch(/^frobnicate: is not a known parameter; this request takes /);
    }
  }
});

test('every report refuses a parameter without a value by its name', async () => {
  const { at, addresses } = everything();
  for (const { path, query, names } of addresses)
    for (const name of names) {
      const others = query.split('&').filter((part) => part !== '' && !part.startsWith(`${name}=`));
      for (const empty of [`${name}=`, name]) {
        const refusal = await at.refusal(`${path}?${[...others, empty].join('&')}`);
        expect([path, empty, refusal.status, refusal.parameter, refusal.message]).toEqual([
          path,
          empty,
          400,
          name,
          `${name}: is empty; give it a value, or leave it out`,
        ]);
      }
    }
});

test('a parameter that takes one value is refused with two, and lists take several', async () => {
  const { at, addresses } = everything();
  const lists = new Set(['devices', 'meterCodes']);
  const value = (name: string) =>
    ({ devices: deviceId(1), meterCodes: 'GRID-1', timezone: 'Europe/Paris' })[name] ?? '2026-05-01';
  for (const { path, query, names } of addresses)
    for (const name of names) {
      const others = query.split('&').filter((part) => part !== '' && !part.startsWith(`${name}=`));
      const twice = [...others, `${name}=${value(name)}`, `${name}=${value(name)}`].join('&');
      const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}?${twice}`);
      const { message } = (await response.json()) as { message?: string };
      if (lists.has(name)) expect([path, name, response.status]).toEqual([path, name, 200]);
      else
        expect([path, name, response.status, message]).toEqual([
          path,
          name,
          400,
          `${name}: is given 2 times; give it once`,
        ]);
    }
});

test.each([
  [
    'daily-energy?startdate=2026-05-01',
    'startdate: is not a known parameter; is it startDate? This request takes startDate, endDate, groupBy, devices, format, after, resolution and top',
  ],
  [
    'daily-energy?start_date=2026-05-01',
    'start_date: is not a known parameter; is it startDate? This request takes startDate, endDate, groupBy, devices, format, after, resolution and top',
  ],
  [
    'daily-energy?start=2026-05-01',
    'start: is not a known parameter; is it startDate? This request takes startDate, endDate, groupBy, devices, format, after, resolution and top',
  ],
  [
    'daily-energy?device=1',
    'device: is not a known parameter; is it devices? This request takes startDate, endDate, groupBy, devices, format, after, resolution and top',
  ],
  [
    'daily-energy?from=2026-05-01&timezone=x',
    'from, timezone: are not known parameters; this request takes startDate, endDate, groupBy, devices, format, after, resolution and top',
  ],
  [
    'daily-energy?EndDate=2026-05-01&from=x',
    'EndDate, from: are not known parameters; is endDate meant? This request takes startDate, endDate, groupBy, devices, format, after, resolution and top',
  ],
  [
    `meter-data?${range}&zone=Etc/UTC`,
    'zone: is not a known parameter; is it timezone? This request takes startDate, endDate, timezone, meterCodes, format and after',
  ],
  [
    `meter-data?${range}&meter=GRID-1`,
    'meter: is not a known parameter; is it meterCodes? This request takes startDate, endDate, timezone, meterCodes, format and after',
  ],
  [
    `budget-data?${range}&senario=P50`,
    'senario: is not a known parameter; is it scenario? This request takes startDate, endDate, timezone, meterCodes, format, after and scenario',
  ],
  [
    'device-status?__proto__=1',
    '__proto__: is not a known parameter; this request takes state, devices, format and after',
  ],
  [
    'device-status?toString=1',
    'toString: is not a known parameter; this request takes state, devices, format and after',
  ],
  ['device-status?=1', '"": is not a known parameter; this request takes state, devices, format and after'],
  [
    `device-status?${'x'.repeat(300)}=1`,
    `${'x'.repeat(59)}…: is not a known parameter; this request takes state, devices, format and after`,
  ],
])('GET %s says what is meant', async (path, message) => {
  const { at } = everything();
  expect(await at.refusal(path)).toMatchObject({ status: 400, message });
});

test('a caller without permission gets the error about the token, not about parameters', async () => {
  const { at, addresses } = everything();
  const writer = await at.issue({ permissions: ['data:write'] });
  for (const { path } of addresses) {
    const url = `/api/v1/orgs/${WORKGROUP}/${path}?frobnicate=1`;
    expect([path, (await at.get(url, { token: undefined })).status]).toEqual([path, 401]);
    expect([path, (await at.get(url, { token: writer })).status]).toEqual([path, 403]);
  }
});
