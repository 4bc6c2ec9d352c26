import { expect, test } from 'vitest';
import { GARAGE, homeWorkgroup, openService, ROOF, readings } from './support.ts';

interface Answer {
  total: number;
  groups: Array<{ kind: string; reason: string; count: number; samples: unknown[] }>;
  setAside: unknown[];
}

test('rejected readings are grouped by reason with samples, cut to the devices of a token', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  await at.send([
    ...readings(GARAGE, ['2026-05-17T08:00:00Z', 'n/a'], ['2026-05-17T09:00:00Z', 'n/a']),
    ...readings(ROOF, ['2026-05-17T10:00:00Z', 'broken'], ['2026-05-17T11:00:00Z', 5]),
  ]);
  const answer = await at.untilAnswer<Answer>('quarantine', ({ total }) => total === 3);
  expect(answer.setAside).toEqual([]);
  expect(answer.groups).toMatchObject([
    {
      kind: 'reading',
      count: 3,
      devices: 2,
      firstAt: '2026-05-17T08:00:00.000Z',
      lastAt: '2026-05-17T10:00:00.000Z',
    },
  ]);
  expect(answer.groups[0]!.samples).toContainEqual({
    device: GARAGE,
    source: 'default',
    field: 'total_wh',
    eventTime: '2026-05-17T08:00:00.000Z',
    detail: null,
    text: expect.stringContaining('n/a'),
    encoding: 'text',
    bytes: null,
  });
  const [heading, ...rows] = await at.csv('quarantine');
  expect(heading).toBe('item,reason,items,devices,first_at,last_at');
  expect(rows).toEqual([`reading,${answer.groups[0]!.reason},3,2,2026-05-17T08:00:00Z,2026-05-17T10:00:00Z`]);
  const one = (await at.get('quarantine?samples=1')).body as Answer;
  expect(one.groups[0]!.samples).toHaveLength(1);
  expect((await at.get('quarantine?samples=21')).status).toBe(400);

  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  const own = (await at.get('quarantine', { token })).body as Answer;
  expect(own.total).toBe(2);
  expect(JSON.stringify(own)).not.toContain(ROOF);
  expect((await at.get(`quarantine?devices=${ROOF}`, { token })).body).toMatchObject({
    status: 400,
    parameter: 'devices',
  });

  const retried = await at.ask('POST', 'quarantine/retry', { body: {} });
  expect(retried).toMatchObject({ status: 200, body: { series: 0, messages: 0, backfill: null } });
  expect(await at.ask('POST', 'quarantine/retry')).toMatchObject({ status: 200 });
  expect(await at.ask('POST', 'quarantine/retry', { body: { device: 'x' } })).toMatchObject({
    status: 400,
    body: { parameter: 'device' },
  });
});
