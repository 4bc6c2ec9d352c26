import { expect, test } from 'vitest';
import type { Access } from '../../src/access/access.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { createUpstreams, withUpstreams } from '../../src/service/upstreams.ts';
import { createTestClock } from '../support/test-clock.ts';

/** "own" reads the stream of this service. "plant" and "open" read others, the second one without a token. */
function setUp() {
  const issued: object[] = [];
  const workgroups = createWorkgroups(
    configSchema.parse({
      workgroups: [
        { id: 'own' },
        {
          id: 'plant',
          upstream: {
            url: 'https://up.example',
            workgroup: 'p1',
            table: 'solar',
            transport: 'socket',
            token: 'theirs',
          },
        },
        { id: 'open', upstream: { url: 'https://open.example' } },
      ],
    }),
  );
  const clock = createTestClock();
  const access: Pick<Access, 'issue'> = {
    async issue(request, options) {
      issued.push({ ...request, ...options });
      return { token: `token-${issued.length}` } as never;
    },
  };
  const upstreams = createUpstreams(workgroups, 'http://own.example', access, clock);
  return { ...upstreams, clock, workgroups, issued };
}

test('a workgroup reads its upstream, or else all tables of the own stream', async () => {
  const { upstreamOf, workgroups } = setUp();
  const of = (id: string) => upstreamOf(workgroups.get(id)!);
  expect(of('own')).toEqual({
    url: 'http://own.example',
    workgroup: 'own',
    table: '-',
    transport: 'rest',
    token: expect.any(Function),
  });
  expect(of('plant')).toMatchObject({
    url: 'https://up.example',
    workgroup: 'p1',
    table: 'solar',
    transport: 'socket',
    token: 'theirs',
  });
  expect(of('open')).toMatchObject({ workgroup: 'open', table: '-', transport: 'rest' });
  // The own stream's token would show a stranger how to read it.
  expect(of('open')).not.toHaveProperty('token');
});

test('the token for the own stream is unlisted, is used again, and is renewed when it is refused', async () => {
  const { upstreamOf, workgroups, issued } = setUp();
  const { token } = upstreamOf(workgroups.get('own')!);
  if (typeof token !== 'function') throw new Error('a token that can be renewed');
  expect([await token(false), await token(false), await token(true), await token(false)]).toEqual([
    'token-1',
    'token-1',
    'token-2',
    'token-2',
  ]);
  expect(issued[0]).toEqual({
    subject: 'wattline-worker',
    scopes: { own: { permissions: ['search:read', 'org:audit'] } },
    lifetimeMs: 3_600_000,
    unlisted: true,
  });
});

test.each([
  ['own', { url: 'http://own.example', workgroup: 'own', table: '-', token: 'token-1' }],
  ['plant', { url: 'https://up.example', workgroup: 'p1', table: 'solar', token: 'theirs' }],
  ['open', { url: 'https://open.example', workgroup: 'open', table: '-' }],
])('the address of the upstream of "%s" has a valid token, if it needs one', async (id, address) => {
  expect(await setUp().addressOf(id)).toEqual(address);
});

test.each([
  ['backfillStart', { url: 'u' }],
  ['backfillPlan', { url: 'u' }],
  ['backfillGaps', { url: 'u' }],
  ['explain', undefined],
] as const)('the operation %s gets the address only if it reads the stream', async (operation, upstream) => {
  const run = async (_id: string, _operation: string, args: object) => args;
  const pipeline = withUpstreams(
    { run } as unknown as Pick<Pipeline, 'run'>,
    async () => ({ url: 'u' }) as never,
  );
  const args = { wish: 1 } as never;
  expect(await pipeline.run('home', operation, args)).toEqual({ wish: 1, ...(upstream && { upstream }) });
});

test('the token for the own stream is renewed after half of its hour', async () => {
  const { upstreamOf, clock, workgroups } = setUp();
  const token = upstreamOf(workgroups.get('own')!).token as (renew: boolean) => Promise<string>;
  expect(await token(false)).toBe('token-1');
  await clock.advance(30 * MINUTE_MS - 1);
  expect(await token(false)).toBe('token-1');
  await clock.advance(1);
  expect(await token(false)).toBe('token-2');
});
