import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { countParameter, once } from '../../src/http/query-schemas.ts';
import { createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

/** Asks a report with some parameters. */
async function askReport(query: string): Promise<{ message?: string; parameter?: string; given?: object }> {
  const app = setUp();
  const querystring = z.object({
    startDate: z.string(once).optional(),
    endDate: z.string(once).optional(),
    timezone: z.string(once).optional(),
    devices: z.union([z.string(), z.array(z.string())]).optional(),
    limit: countParameter(200),
  });
  app.get('/api/v1/orgs/:id/things', { schema: { querystring } }, async ({ query: given }) => ({ given }));
  const answer = await app.inject(`/api/v1/orgs/home/things?${query}`);
  return answer.json();
}

const takes = 'his request takes startDate, endDate, timezone, devices and limit';

test.each([
  ['startDay=1', `startDay: is not a known parameter; is it startDate? T${takes}`],
  ['zone=x', `zone: is not a known parameter; is it timezone? T${takes}`],
  // Two of the parameters contain it.
  ['date=x', `date: is not a known parameter; t${takes}`],
  ['vic=x', `vic: is not a known parameter; is it devices? T${takes}`],
  // Too short for a guess.
  ['vi=x', `vi: is not a known parameter; t${takes}`],
  [
    'zone=x&stardDate=1',
    `zone, stardDate: are not known parameters; are timezone and startDate meant? T${takes}`,
  ],
  ['zone=x&y=1', `zone, y: are not known parameters; is timezone meant? T${takes}`],
  ['a=1&b=1&c=1&d=1&e=1&f=1', `a, b, c, d, e: are not known parameters; t${takes}`],
  [`${'x'.repeat(60)}=1`, `${'x'.repeat(60)}: is not a known parameter; t${takes}`],
  ['=1', `"": is not a known parameter; t${takes}`],
])('the unknown parameters %s are refused with the names that may be meant', async (query, message) => {
  expect((await askReport(query)).message).toBe(message);
});

test('a long name is cut in the message', async () => {
  const { message, parameter } = await askReport(`${'x'.repeat(61)}=1`);
  expect(message).toMatch(/^x{59}…: is not a known parameter/);
  expect(parameter).toBe('x'.repeat(61));
});

test.each([
  ['devices=a&devices=', 'devices: is empty; give it a value, or leave it out'],
  ['limit=', 'limit: is empty; give it a value, or leave it out'],
  ['timezone=a&timezone=b', 'timezone: is given 2 times; give it once'],
  ['limit=0', 'limit: must be a number from 1 to 200'],
  ['limit=201', 'limit: must be a number from 1 to 200'],
  ['limit=1.5', 'limit: must be a number from 1 to 200'],
  ['limit=-1', 'limit: must be a number from 1 to 200'],
])('the parameters %s are refused', async (query, message) => {
  expect((await askReport(query)).message).toBe(message);
});

test('a list can be repeated, and a count has both its bounds', async () => {
  expect(await askReport('devices=a&devices=b&limit=1')).toEqual({
    given: { devices: ['a', 'b'], limit: 1 },
  });
  expect(await askReport('devices=a&limit=200')).toEqual({ given: { devices: 'a', limit: 200 } });
});
