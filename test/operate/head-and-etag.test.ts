import { expect, test } from 'vitest';
import { GARAGE, homeWorkgroup, openService, ROOF, readings } from './support.ts';

const DAY = '2026-05-17';
const queries: Readonly<Record<string, string>> = {
  'daily-energy/explain': `?device=${GARAGE}&day=${DAY}`,
  'daily-energy/changes': `?since=${DAY}`,
  'meter-data': `?startDate=${DAY}&endDate=${DAY}`,
  'meter-data/details': `?startDate=${DAY}&endDate=${DAY}`,
  'budget-data': `?startDate=${DAY}&endDate=${DAY}`,
  'budget-data/details': `?startDate=${DAY}&endDate=${DAY}`,
  'sites/{site}/reconciliation': `?startDate=${DAY}&endDate=${DAY}`,
  'sites/{site}/variance': `?startDate=${DAY}&endDate=${DAY}`,
};

test('every address below /orgs has an ETag and answers HEAD and 304', async () => {
  const at = await openService({
    workgroups: [
      {
        ...homeWorkgroup,
        roles: [{ source: 'default', role: 'production' as const }],
        meters: [{ code: 'GRID-1' }],
        sites: [{ name: 'house', meters: [{ code: 'GRID-1' }], devices: [{ id: ROOF }, { id: GARAGE }] }],
      },
    ],
  });
  await at.send(readings(GARAGE, [`${DAY}T08:00:00Z`, 1], [`${DAY}T09:00:00Z`, 2]));
  await at.untilAnswer<Record<string, object>>(
    `daily-energy?startDate=${DAY}&endDate=${DAY}`,
    (answer) => Object.keys(answer[DAY] ?? {}).length > 0,
  );
  const { paths } = (await (await fetch(`${at.service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const root = '/api/v1/orgs/{workgroupId}/';
  const names = Object.keys(paths).flatMap((path) =>
    path.startsWith(root) && 'get' in paths[path]! ? [path.slice(root.length)] : [],
  );
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    const path = name.replace('{site}', 'house') + (queries[name] ?? '');
    // An answer with a time that moves, such as the status, is asked for again.
    await expect
      .poll(
        async () => {
          const got = await at.get(path);
          const head = await at.ask('HEAD', path);
          const again = await at.get(path, { headers: { 'If-None-Match': got.etag ?? '' } });
          return [name, got.status, head.status, head.etag === got.etag, head.body, again.status];
        },
        { timeout: 120_000 },
      )
      .toEqual([name, 200, 200, true, null, 304]);
  }
});
