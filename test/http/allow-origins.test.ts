import { beforeEach, expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { allowOrigins } from '../../src/http/allow-origins.ts';
import { rejectOtherMethods } from '../../src/http/http-server.ts';
import { createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

const page = 'https://grafana.example.com';

async function serve(origins: string[]) {
  const app = setUp();
  await allowOrigins(app, origins);
  app.get('/thing', (_request, reply) => reply.header('Vary', 'Authorization').send({ ok: true }));
  rejectOtherMethods(app, '/thing', ['GET']);
  return app;
}
const preflight = (origin: string) => ({
  method: 'OPTIONS' as const,
  url: '/thing',
  headers: {
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization',
  },
});

test('a page of a configured origin may call, without a token in its preflight', async () => {
  const app = await serve([page]);
  const asked = await app.inject(preflight(page));
  expect(asked.statusCode).toBe(204);
  expect(asked.headers).toMatchObject({
    'access-control-allow-origin': page,
    'access-control-allow-headers': 'authorization',
    'access-control-max-age': '600',
  });
  expect(asked.headers.vary).toBe('Origin, Access-Control-Request-Headers');
  const got = await app.inject({ url: '/thing', headers: { origin: page } });
  // The token is missing or not; the script can read the answer in both cases.
  expect(got.headers).toMatchObject({ 'access-control-allow-origin': page });
  expect(got.headers['access-control-expose-headers']).toBe(
    'Content-Disposition, ETag, Retry-After, Wattline-Flags, Wattline-Next, X-Request-Id, Stream-Next-Offset, Stream-Up-To-Date, Stream-Lag-Messages, Preference-Applied',
  );
  expect(got.headers).not.toHaveProperty('access-control-allow-credentials');
  expect(got.headers.vary).toBe('Authorization, Origin');
  const nothing = await app.inject({ url: '/nothing', headers: { origin: page } });
  expect(nothing.headers.vary).toBe('Origin');
});

test.each([['https://evil.example.com'], ['https://grafana.example.com.evil.com'], ['null']])(
  'a page of %s may not',
  async (origin) => {
    const app = await serve([page]);
    for (const answer of [
      await app.inject(preflight(origin)),
      await app.inject({ url: '/thing', headers: { origin } }),
    ]) {
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
      expect(answer.headers.vary).toMatch(/Origin/);
    }
  },
);

test('without configured origins there are no such headers, and OPTIONS is refused', async () => {
  const app = await serve([]);
  const asked = await app.inject(preflight(page));
  expect(asked.statusCode).toBe(405);
  expect(asked.headers).not.toHaveProperty('access-control-allow-origin');
});

test.each([
  '*',
  'https://a.example.com/',
  'a.example.com',
  'https://a.example.com/path',
  'ftp://a.example.com',
])('the setting refuses %s', (origin) => {
  const parsed = configSchema.safeParse({ workgroups: [{ id: 'home' }], http: { corsOrigins: [origin] } });
  expect(parsed.error?.issues[0]?.path).toEqual(['http', 'corsOrigins', 0]);
});
