import { beforeEach, expect, test } from 'vitest';
import { registerHealth } from '../../src/http/health-routes.ts';
import { createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

test('health and readiness follow from the checks of the roles', async () => {
  const app = setUp();
  const health = registerHealth(app);
  expect((await app.inject('/ready')).json()).toEqual({ ok: true, checks: {} });
  health.addReadiness('stream', () => ({ ok: true, detail: { logs: 2 } }));
  health.addReadiness('worker', async () => {
    throw new Error('no tick for 10 s');
  });
  const answer = await app.inject('/ready');
  expect(answer.statusCode).toBe(503);
  expect(answer.json()).toEqual({
    ok: false,
    checks: {
      stream: { ok: true, detail: { logs: 2 } },
      worker: { ok: false, detail: { problem: 'no tick for 10 s' } },
    },
  });
  expect(answer.headers['retry-after']).toBe('5');
  const good = await app.inject('/health');
  expect([good.statusCode, good.headers['retry-after']]).toEqual([200, undefined]);
  for (const { headers } of [answer, good]) expect(headers['cache-control']).toBe('no-store');
  // Load balancers ask with HEAD.
  const head = await app.inject({ method: 'HEAD', url: '/health' });
  expect([head.statusCode, head.body]).toEqual([200, '']);
  expect((await app.inject({ method: 'HEAD', url: '/ready' })).statusCode).toBe(503);
  expect((await app.inject({ method: 'POST', url: '/ready' })).headers.allow).toBe('GET, HEAD');
});

test('a check learns if names may be shown, which a request through a proxy may not see', async () => {
  const app = setUp();
  registerHealth(app).addReadiness('who', ({ maySeeNames }) => ({ ok: true, detail: { maySeeNames } }));
  const heard = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/ready', headers })).json().checks.who.detail.maySeeNames;
  expect(await heard({})).toBe(true);
  for (const header of ['x-forwarded-for', 'forwarded', 'via'])
    expect([header, await heard({ [header]: 'a' })]).toEqual([header, false]);
});

// It takes 3 s.
test('a check without an answer fails', { tags: ['slow'] }, async () => {
  const app = setUp();
  registerHealth(app).addReadiness('disk', () => new Promise(() => undefined));
  const { statusCode, body } = await app.inject('/ready');
  expect([statusCode, body]).toEqual([503, expect.stringContaining('has not answered within 3 s')]);
});
