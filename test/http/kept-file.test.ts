import { gunzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { keepFile, sendKeptFile } from '../../src/http/kept-file.ts';
import { createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

test('a file is compressed if the caller reads that and it becomes smaller, and has one ETag', async () => {
  const [long, short] = await Promise.all(
    ['x'.repeat(1_000), 'short'].map((text) => keepFile(Buffer.from(text), { 'Content-Type': 'text/plain' })),
  );
  const app = setUp();
  app.get('/long', async (request, reply) => sendKeptFile(request, reply, long!));
  app.get('/short', async (request, reply) => sendKeptFile(request, reply, short!));
  const ask = (url: string, headers = {}) => app.inject({ url, headers });
  const packed = await ask('/long', { 'accept-encoding': 'gzip' });
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
  expect(gunzipSync(packed.rawPayload).toString()).toBe('x'.repeat(1_000));
  const plain = await ask('/long');
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(plain.headers).toMatchObject({ etag: packed.headers.etag, vary: 'Accept-Encoding' });
  expect(plain.body).toBe('x'.repeat(1_000));
  const small = await ask('/short', { 'accept-encoding': 'gzip' });
  expect(small.headers).not.toHaveProperty('content-encoding');
  expect(small.body).toBe('short');
  expect(small.headers.etag).not.toBe(plain.headers.etag);
  const again = await ask('/long', { 'if-none-match': String(plain.headers.etag) });
  expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', plain.headers.etag]);
});
