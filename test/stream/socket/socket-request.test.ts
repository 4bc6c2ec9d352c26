import { expect, test } from 'vitest';
import { StreamError, unavailable } from '../../../src/contract/stream-errors.ts';
import { limits } from '../../../src/contract/wire-limits.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { errorPayload, socketError } from '../../../src/stream/socket/socket-errors.ts';
import { parseSubscribe } from '../../../src/stream/socket/socket-request.ts';

const requestId = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

test.each<[about: string, payload: object, request: object]>([
  ['the newest messages of all tables', {}, { start: { kind: 'newest' }, limit: limits.frameMessagesMax }],
  [
    'null is absent',
    { offset: null, timestamp: null, limit: null, table: null },
    { start: { kind: 'newest' } },
  ],
  [
    'an offset as text',
    { offset: '1882378469376000008' },
    { start: { kind: 'offset', offset: 1882378469376000008n } },
  ],
  ['an offset as a small number', { offset: 12 }, { start: { kind: 'offset', offset: 12n } }],
  ['an offset before a time', { offset: '1', timestamp: 'x' }, { start: { kind: 'offset', offset: 1n } }],
  [
    'a time as text',
    { timestamp: '2026-11-20T12:00:00Z' },
    { start: { kind: 'timestamp', timestampMs: 1_795_176_000_000 } },
  ],
  [
    'a time as a number',
    { timestamp: 1_795_176_000_000 },
    { start: { kind: 'timestamp', timestampMs: 1_795_176_000_000 } },
  ],
  ['a limit', { limit: 7 }, { limit: 7 }],
  ['a limit as text', { limit: '7' }, { limit: 7 }],
  ['a limit beyond the largest one', { limit: 100_000 }, { limit: limits.frameMessagesMax }],
  ['a table', { table: 'solar' }, { table: 'solar' }],
  ['all tables', { table: '-' }, { table: '-' }],
  ['members that do not exist', { more: 1 }, { start: { kind: 'newest' } }],
])('a subscription has %s', (_, payload, request) => {
  expect(parseSubscribe({ requestId, ...payload })).toMatchObject({ requestId, ...request });
});

test.each<[code: string, parameter: string, payload: unknown]>([
  ['InvalidRequest', 'requestId', undefined],
  ['InvalidRequest', 'requestId', 'text'],
  ['InvalidRequest', 'requestId', { offset: 'x' }],
  ['InvalidRequest', 'requestId', { requestId: 'one' }],
  ['InvalidOffset', 'offset', { requestId, offset: 2 ** 60 }],
  ['InvalidOffset', 'offset', { requestId, offset: 1.5 }],
  ['InvalidOffset', 'offset', { requestId, offset: -1 }],
  ['InvalidOffset', 'offset', { requestId, offset: true }],
  ['InvalidTimestamp', 'timestamp', { requestId, timestamp: {} }],
  ['InvalidTimestamp', 'timestamp', { requestId, timestamp: ['2026-11-20T12:00:00Z'] }],
  ['InvalidLimit', 'limit', { requestId, limit: 0 }],
  ['InvalidLimit', 'limit', { requestId, limit: 2 ** 60 }],
  ['InvalidLimit', 'limit', { requestId, limit: 1.5 }],
  ['InvalidRequest', 'table', { requestId, table: 'a b' }],
])('%s names %s: %j', (code, parameter, payload) => {
  expect(() => parseSubscribe(payload)).toThrow(expect.objectContaining({ code, details: { parameter } }));
});

test('an offset that is too large for a number says so', () => {
  expect(() => parseSubscribe({ requestId, offset: 2 ** 60 })).toThrow('must be sent as text');
});

test('a fault of the service is logged with an id, and the client gets only the id', () => {
  const logged: Array<{ correlationId?: string; error: string }> = [];
  const logger = {
    ...silentLogger,
    error: (facts: (typeof logged)[0]) => logged.push(facts),
  } as typeof silentLogger;
  const error = socketError(new Error('an inner detail'), logger);
  expect(error).toMatchObject({ code: 'Internal', details: { correlationId: logged[0]!.correlationId } });
  expect(JSON.stringify(errorPayload(error))).not.toContain('an inner detail');
  const refused = new StreamError('OffsetAhead', 'later', { nextOffset: 2n ** 60n });
  expect(socketError(refused, logger)).toBe(refused);
  expect(errorPayload(refused)).toMatchObject({ nextOffset: '1152921504606846976' });
  const away = unavailable('later', 1, new Error('the disk'));
  expect(socketError(away, logger)).toBe(away);
  expect(logged.map((one) => one.error)).toEqual(['an inner detail', 'the disk']);
});
