import { beforeEach, expect, test } from 'vitest';
import { sendTagged } from '../../src/http/send-tagged.ts';
import { createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

test('an answer has an ETag of its content, and caches keep it for its caller only and ask again', async () => {
  const app = setUp();
  let count = 1;
  app.get('/list', async (request, reply) => sendTagged(request, reply, { count }));
  const first = await app.inject('/list');
  expect(first.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Authorization' });
  const headers = { 'if-none-match': String(first.headers.etag) };
  const again = await app.inject({ url: '/list', headers });
  expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', first.headers.etag]);
  count = 2;
  const changed = await app.inject({ url: '/list', headers });
  expect([changed.statusCode, changed.json()]).toEqual([200, { count: 2 }]);
});
