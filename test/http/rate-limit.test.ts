import { beforeEach, describe, expect, test } from 'vitest';
import { type Access, createAccess } from '../../src/access/access.ts';
import { admit } from '../../src/access/admit.ts';
import { registerHealth } from '../../src/http/health-routes.ts';
import { authenticationOf } from '../../src/http/http-server.ts';
import { createRateLimit } from '../../src/http/rate-limit.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { access, createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

describe('the rate limit', () => {
  async function setUpLimited(requestsPerMinuteMax: number) {
    const clock = createTestClock();
    const access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock });
    const app = setUp({ requestsPerMinuteMax, clock, access });
    app.get('/a', async () => ({}));
    const issue = async () =>
      access.issue({ subject: 't', scopes: { home: { permissions: ['search:read'] } }, lifetimeMs: 600_000 });
    const ask = (authorization?: string, remoteAddress = '192.0.2.1') =>
      app.inject({ url: '/a', remoteAddress, headers: authorization === undefined ? {} : { authorization } });
    const status = async (...args: Parameters<typeof ask>) => (await ask(...args)).statusCode;
    return { clock, access, app, issue, ask, status };
  }

  test('counts each token separately, names the time to wait, and does not count health checks', async () => {
    const { clock, app, issue, ask, status } = await setUpLimited(3);
    registerHealth(app);
    const [one, two] = [`Bearer ${(await issue()).token}`, `Bearer ${(await issue()).token}`];
    for (let round = 0; round < 3; round++) expect(await status(one)).toBe(200);
    const refused = await ask(one);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('20');
    expect(refused.json()).toMatchObject({
      error: 'RateLimited',
      message: 'too many requests with this token',
      status: 429,
      retryable: true,
    });
    expect(await status(two)).toBe(200);
    expect(await status()).toBe(200);
    for (let round = 0; round < 10; round++) expect((await app.inject('/health')).statusCode).toBe(200);
    await clock.advance(19_999);
    expect(await status(one)).toBe(429);
    await clock.advance(1);
    expect(await status(one)).toBe(200);
    expect(await status(one)).toBe(429);
  });

  test('gives at most a minute of requests at once, even if a token was idle for long', async () => {
    const { clock, issue, status } = await setUpLimited(3);
    const token = `Bearer ${(await issue()).token}`;
    expect(await status(token)).toBe(200);
    await clock.advance(300_000);
    for (let round = 0; round < 3; round++) expect(await status(token)).toBe(200);
    expect(await status(token)).toBe(429);
  });

  test('counts a token once for all spellings of its header and all addresses', async () => {
    const { issue, status } = await setUpLimited(4);
    const { token } = await issue();
    const spellings = [`Bearer ${token}`, `bearer ${token}`, `Bearer  ${token}`, `BEARER    ${token}  `];
    for (const [index, spelling] of spellings.entries())
      expect(await status(spelling, `192.0.2.${index}`)).toBe(200);
    for (const [index, spelling] of spellings.entries())
      expect(await status(`${spelling} `, `192.0.2.${index}`)).toBe(429);
  });

  test('checks the token of a request once: the route gets the result', async () => {
    let checks = 0;
    const counting: Pick<Access, 'authenticate' | 'recheck'> = {
      recheck: access.recheck,
      authenticate(token) {
        checks++;
        return access.authenticate(token);
      },
    };
    const app = setUp({ access: counting });
    app.get('/limited', async (request) => {
      admit({ groupsOf: () => ({}) }, authenticationOf(request), 'home', ['search:read']);
      return {};
    });
    const scopes = { home: { permissions: ['search:read' as const] } };
    const { token } = await access.issue({ subject: 'reader', scopes, lifetimeMs: 60_000 });
    const statusOf = async (authorization?: string) =>
      (await app.inject({ url: '/limited', headers: authorization ? { authorization } : {} })).statusCode;
    expect([await statusOf(`Bearer ${token}`), await statusOf('Bearer none'), await statusOf()]).toEqual([
      200, 401, 401,
    ]);
    expect(checks).toBe(3);
  });

  test('counts requests without a valid token for their address, and not for tokens of that address', async () => {
    const { access, clock, issue, ask, status } = await setUpLimited(6);
    const [good, revoked] = [await issue(), await issue()];
    access.revoke(revoked.tokenId);
    const invented = [
      undefined,
      'Bearer x',
      'Bearer y',
      'Basic abc',
      `Bearer ${revoked.token}`,
      `Bearer ${good.token}A`,
    ];
    for (const each of invented) expect(await status(each)).toBe(200);
    for (const each of [...invented, 'Bearer another', 'Basic other']) expect(await status(each)).toBe(429);
    expect((await ask('Bearer z')).json()).toMatchObject({
      message: 'too many requests from this address without a token that is valid',
    });
    expect(await status(`Bearer ${good.token}`)).toBe(200);
    expect(await status('Bearer x', '192.0.2.2')).toBe(200);
    await clock.advance(10_000);
    expect(await status('Bearer x')).toBe(200);
  });

  test('counts a /64 network of IPv6 as one caller', async () => {
    const { status } = await setUpLimited(1);
    expect(await status(undefined, '2001:db8:1:2::1')).toBe(200);
    expect(await status(undefined, '2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(429);
    expect(await status(undefined, '2001:db8:1:3::1')).toBe(200);
    expect(await status(undefined, '2001:db8::1')).toBe(200);
    expect(await status(undefined, '2001:db8:0:0:5::')).toBe(429);
    expect(await status(undefined, '198.51.100.1')).toBe(200);
    expect(await status(undefined, '::ffff:198.51.100.1')).toBe(429);
    expect(await status(undefined, '::ffff:198.51.100.2')).toBe(200);
  });

  test('does not change when the clock steps back', () => {
    const clock = createTestClock();
    const limit = createRateLimit({ perMinute: 2, clock });
    const a = { tokenId: 'a' };
    expect([limit.take(a), limit.take(a), limit.take(a)]).toEqual([0, 0, 30]);
    clock.set(clock.now() - 3_600_000);
    expect(limit.take(a)).toBe(30);
    clock.set(clock.now() + 30_000);
    expect(limit.take(a)).toBe(0);
  });

  test('keeps a bounded number of callers, and many addresses displace no token', { tags: ['slow'] }, () => {
    const limit = createRateLimit({ perMinute: 1, clock: createTestClock() });
    const [first, token] = [{ address: '192.0.2.1' }, { tokenId: '192.0.2.1' }];
    expect([limit.take(first), limit.take(first)]).toEqual([0, 60]);
    expect([limit.take(token), limit.take(token)]).toEqual([0, 60]);
    for (let caller = 0; caller < 50_000; caller++) limit.take({ address: `caller ${caller}` });
    expect(limit.take(first)).toBe(0);
    expect(limit.take(token)).toBe(60);
  });
});
