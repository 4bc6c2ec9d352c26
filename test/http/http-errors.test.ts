import { beforeEach, describe, expect, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { StreamError, unavailable } from '../../src/contract/stream-errors.ts';
import { TerminalError } from '../../src/lib/errors.ts';
import { createTestAccess, recordingLog, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

/** The answer of a route that throws. */
async function answerTo(error: unknown, { url = '/a', headers = {} } = {}) {
  const events: Array<[string, Record<string, unknown>]> = [];
  const app = setUp({ logger: recordingLog(events) });
  app.get(url, async () => {
    throw error;
  });
  const answer = await app.inject({ url, headers });
  const { 'retry-after': retryAfter, 'www-authenticate': challenge } = answer.headers;
  return { answer, retryAfter, challenge, logged: events.map(([event]) => event) };
}

test.each([
  [new StreamError('RateLimited', 'x'), '1'],
  [new StreamError('Draining', 'x'), '1'],
  [new StreamError('RateLimited', 'x', {}, 7), '7'],
  [unavailable('x', 2), '2'],
  [new TerminalError('LakeMissing', 'x'), '30'],
  [new StreamError('InvalidRequest', 'x'), undefined],
  [new StreamError('Internal', 'x'), undefined],
])('after %o a caller waits %s seconds', async (error, seconds) => {
  const { answer, retryAfter } = await answerTo(error);
  expect(retryAfter).toBe(seconds);
  expect(answer.headers['cache-control']).toBe('no-store');
});

test.each([
  [new StreamError('AuthenticationRequired', 'x'), 'Bearer'],
  [new StreamError('InvalidToken', 'x'), 'Bearer error="invalid_token"'],
  [
    new StreamError('InsufficientScope', 'x', { required: ['data:write', 'org:admin'] }),
    'Bearer error="insufficient_scope", scope="data:write org:admin"',
  ],
  [new StreamError('WorkgroupForbidden', 'x', { required: ['data:write'] }), undefined],
])('the challenge of %o is %s', async (error, challenge) => {
  expect((await answerTo(error)).challenge).toBe(challenge);
});

test.each([
  'DamagedLog',
  'ForeignLake',
  'LakeBehindWarehouse',
  'LakeMissing',
  'WarehouseBehindLake',
  'WarehouseGone',
  'WarehouseMissing',
])('%s is 503 with its own words, and is logged', async (code) => {
  const { answer, logged } = await answerTo(new TerminalError(code, 'put it back'));
  expect(answer.json()).toMatchObject({ error: 'StorageUnavailable', status: 503, message: 'put it back' });
  expect(logged).toContain('http.unavailable');
});

test('a fault of the storage without a cause, and an error of the request, are not logged as faults', async () => {
  for (const error of [unavailable('x', 1), new StreamError('InvalidRequest', 'x')]) {
    const { logged } = await answerTo(error);
    expect(logged).not.toContain('http.unavailable');
    expect(logged).not.toContain('http.internal-error');
  }
});

describe('an error of the stream', () => {
  const url = '/api/v1/tables/home/t';
  const gone = new StreamError('OffsetExpired', 'gone', { nextOffset: 2n ** 63n });

  test('is CBOR with 64-bit integers', async () => {
    const { answer } = await answerTo(gone, { url });
    expect(answer.headers['content-type']).toBe('application/cbor');
    expect(decodeCbor(answer.rawPayload)).toMatchObject({ error: 'OffsetExpired', nextOffset: 2n ** 63n });
  });

  test('is JSON for a caller that prefers JSON', async () => {
    const { answer } = await answerTo(gone, { url, headers: { accept: 'application/json' } });
    expect(answer.json()).toMatchObject({ error: 'OffsetExpired', nextOffset: '9223372036854775808' });
  });
});

test('a body that is too large names its limit, and how a larger one is sent', async () => {
  const app = setUp();
  const config = { largerBodies: 'Send several files.' };
  app.post('/api/v1/tables/home/t', { config, bodyLimit: 10 }, async () => ({}));
  const post = (headers: object) =>
    app.inject({
      method: 'POST',
      url: '/api/v1/tables/home/t',
      payload: '"0123456789"',
      headers: { accept: 'application/json', ...headers },
    });
  expect((await post({ 'content-type': 'application/json' })).json().message).toBe(
    'the body is too large; at most 10 bytes can be sent at once. Send several files.',
  );
  const refused = await post({ 'content-type': 'application/json' });
  // If the connection closed while the body still arrives, the caller would not get the answer.
  expect(refused.headers).not.toHaveProperty('connection');
  expect((await post({ 'content-type': 'text/plain' })).json()).toMatchObject({ error: 'PayloadTooLarge' });
  expect(
    (
      await app.inject({
        method: 'POST',
        url: '/api/v1/tables/home/t',
        payload: '<a/>',
        headers: { accept: 'application/json', 'content-type': 'text/xml' },
      })
    ).json().message,
  ).toContain('messages are sent as application/cbor, application/json, application/x-ndjson');
});
