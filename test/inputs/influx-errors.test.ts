import { expect, test } from 'vitest';
import { StreamError, type StreamErrorCode } from '../../src/contract/stream-errors.ts';
import { influx1Error, influxError, RefusedLinesError } from '../../src/inputs/influx-errors.ts';
import { influxToken } from '../../src/inputs/influx-token.ts';

test.each<[code: StreamErrorCode, word: string]>([
  ['InvalidRequest', 'invalid'],
  ['UnsupportedMediaType', 'invalid'],
  ['AuthenticationRequired', 'unauthorized'],
  ['InvalidToken', 'unauthorized'],
  ['InsufficientScope', 'forbidden'],
  ['WorkgroupForbidden', 'forbidden'],
  ['NotFound', 'not found'],
  ['MethodNotAllowed', 'method not allowed'],
  ['PayloadTooLarge', 'request too large'],
  ['RateLimited', 'too many requests'],
  ['Draining', 'unavailable'],
  ['StorageUnavailable', 'unavailable'],
  ['Internal', 'internal error'],
])('%s is "%s" for clients of InfluxDB 2', (code, word) => {
  const error = new StreamError(code, 'what happened');
  expect(influxError(error)).toEqual({ code: word, message: 'what happened' });
  expect(influx1Error(error)).toEqual({ error: 'what happened' });
});

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ line: index + 2, reason: `reason ${index + 2}` }));

test('five refused lines are in the text of an error, and all that are listed in its body', () => {
  const error = new RefusedLinesError(lines(6), { refusedCount: 1_007, accepted: 3 });
  expect(error.message).toBe(
    'partial write: 1,007 of 1,010 lines were refused, and the others were stored: line 2: reason 2; line 3: reason 3; line 4: reason 4; line 5: reason 5; line 6: reason 6; and 1,002 more',
  );
  expect(influxError(error)).toMatchObject({ code: 'invalid', line: 2, lines: lines(6) });
});

test('if no line was stored, no other lines are named', () => {
  expect(new RefusedLinesError(lines(1), { refusedCount: 1, accepted: 0 }).message).toBe(
    'partial write: 1 of 1 line was refused: line 2: reason 2',
  );
  expect(new RefusedLinesError(lines(5), { refusedCount: 5, accepted: 0 }).message).not.toContain('more');
});

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

test.each<[authorization: string | undefined, query: unknown, token: string | undefined]>([
  ['Bearer abc', {}, 'abc'],
  ['TOKEN  abc ', {}, 'abc'],
  ['Token me:abc', {}, 'abc'],
  [basic('me:abc'), {}, 'abc'],
  [basic('a:b:abc'), {}, 'abc'],
  [undefined, { u: 'me', p: 'abc' }, 'abc'],
  ['Bearer abc', { p: 'other' }, 'abc'],
  ['Digest abc', { p: 'other' }, undefined],
  [undefined, { p: ['abc', 'other'] }, undefined],
  [undefined, undefined, undefined],
])('the token of a request with the header %s and the parameters %j', (authorization, query, token) => {
  expect(influxToken(authorization, query)).toBe(token);
});
