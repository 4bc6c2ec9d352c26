import { beforeEach, expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { addHttpMetrics } from '../../src/metrics/http-metrics.ts';
import { createMetricsRegistry } from '../../src/metrics/metrics-registry.ts';
import { registerMetricsRoute, registerOpenMetricsRoute } from '../../src/metrics/metrics-route.ts';
import { SEND_ROUTE } from '../../src/stream/rest/stream-routes.ts';
import { access, createTestAccess, setUp } from '../http/start-http-server.ts';
import { deviceId } from '../support/messages.ts';

beforeEach(createTestAccess);

test('requests are measured in seconds by route, but not health checks, and refused messages are counted', async () => {
  const registry = createMetricsRegistry();
  const app = setUp();
  const refused: string[] = [];
  addHttpMetrics(registry, app, (...refusal) => refused.push(refusal.join(' ')));
  app.get('/thing/:id', async () => ({ ok: true }));
  app.get('/health', { config: { rateLimited: false } }, async () => ({ ok: true }));
  app.get(SEND_ROUTE, async () => {
    throw new StreamError('NotFound', 'gone');
  });
  app.post(SEND_ROUTE, async (request) => {
    if (request.headers['x-good'] === undefined) throw new StreamError('InvalidRequest', 'bad');
    return {};
  });
  const url = SEND_ROUTE.replace(':workgroupId', 'home');
  const beganMs = performance.now();
  await app.inject('/thing/7');
  await app.inject('/thing/8');
  await app.inject('/health');
  await app.inject(url);
  await app.inject({ method: 'POST', url });
  await app.inject({ method: 'POST', url, headers: { 'x-good': '1' } });
  const lines = registry.text().split('\n');
  const counts = lines.filter((line) => line.startsWith('wattline_http_request_duration_seconds_count'));
  const count = (method: string, route: string, status: number, times: number) =>
    `wattline_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"} ${times}`;
  expect(counts).toEqual([
    count('GET', '/thing/:id', 200, 2),
    count('GET', SEND_ROUTE, 404, 1),
    count('POST', SEND_ROUTE, 400, 1),
    count('POST', SEND_ROUTE, 200, 1),
  ]);
  const sums = lines.filter((line) => line.startsWith('wattline_http_request_duration_seconds_sum'));
  // Together they are not longer than the time of all requests.
  const seconds = sums.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
  expect(seconds).toBeLessThanOrEqual((performance.now() - beganMs) / 1_000);
  expect(refused).toEqual(['home InvalidRequest']);
});

test('metrics need a token for all workgroups without device groups, and are open on a separate server', async () => {
  const registry = createMetricsRegistry();
  const serve = (ids: string[]) => {
    const app = setUp();
    const { workgroups } = configSchema.parse({
      workgroups: [{ id: 'home' }, { id: 'plant', deviceGroups: { roof: [deviceId(1)] } }],
    });
    const configured = workgroups.filter(({ id }) => ids.includes(id));
    registerMetricsRoute(app, registry, { workgroups: createWorkgroups({ workgroups: configured }) });
    return app;
  };
  const issue = async (scopes: Parameters<typeof access.issue>[0]['scopes']) =>
    (await access.issue({ subject: 'scraper', scopes, lifetimeMs: 60_000 })).token;
  const admin = { permissions: ['org:admin' as const] };
  const ask = async (ids: string[], token?: string) =>
    (await serve(ids).inject({ url: '/metrics', headers: token ? { authorization: `Bearer ${token}` } : {} }))
      .statusCode;
  const both = await issue({ home: admin, plant: admin });
  expect(await ask(['home', 'plant'], both)).toBe(200);
  expect(await ask(['home'], both)).toBe(200);
  expect(await ask(['home', 'plant'], await issue({ home: admin }))).toBe(403);
  const partial = { home: admin, plant: { ...admin, deviceGroups: ['roof'] } };
  expect(await ask(['home', 'plant'], await issue(partial))).toBe(403);
  expect(await ask(['home'], await issue({ home: { permissions: ['search:read'] } }))).toBe(403);
  // Without workgroups a token of a removed workgroup would be enough.
  expect(await ask([], both)).toBe(403);
  expect(await ask(['home'])).toBe(401);
  const open = setUp();
  registerOpenMetricsRoute(open, registry);
  const answer = await open.inject('/metrics');
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(answer.headers['content-type']).toContain('text/plain; version=0.0.4');
});
