import { expect, test } from 'vitest';
import { bodySchema, requestOf } from '../../src/correction/correction-body.ts';
import { withRequestKey } from '../../src/correction/with-request-key.ts';
import { deviceId } from '../support/messages.ts';

const of = { device: deviceId(1), source: 'pv', reason: 'a wrong meter' };
const between = { from: '2026-11-20T13:00:00+01:00', to: '2026-11-20T13:00:00Z' };
const betweenMs = { fromMs: Date.parse('2026-11-20T12:00:00Z'), toMs: Date.parse('2026-11-20T13:00:00Z') };
const like = { device: deviceId(2), source: 'pv' };

test.each<[body: object, request: object]>([
  [
    { kind: 'exclude', ...of, ...between, table: 'solar', field: 'total' },
    { kind: 'exclude', ...of, ...betweenMs, table: 'solar', field: 'total' },
  ],
  [
    { kind: 'set', ...of, ...between, energyWh: -5, key: 'k' },
    { kind: 'set', ...of, ...betweenMs, energyWh: -5, key: 'k' },
  ],
  [
    { kind: 'set_day', ...of, day: '2026-11-20', energyWh: 5 },
    { kind: 'set_day', ...of, day: '2026-11-20', energyWh: 5 },
  ],
  // Measured intervals stay, unless the caller says otherwise.
  [
    { kind: 'fill', ...of, ...between },
    { kind: 'fill', ...of, ...betweenMs, replace: false },
  ],
  [
    { kind: 'fill', ...of, ...between, like, replace: true },
    { kind: 'fill', ...of, ...betweenMs, like, replace: true },
  ],
  [
    { kind: 'undo', correction: 3, reason: ' because ' },
    { kind: 'undo', correctionId: 3, reason: 'because' },
  ],
])('the body %j is a request to the owner', (body, request) => {
  expect(requestOf(bodySchema.parse(body))).toEqual(request);
});

const set = { kind: 'set', ...of, ...between, energyWh: 5 };
test.each<[what: string, body: object, path: string]>([
  ['an instant without a zone', { ...set, from: '2026-11-20T13:00:00' }, 'from'],
  ['an instant before 1970', { ...set, from: '1969-12-31T23:59:59Z' }, 'from'],
  ['a part of a Wh', { ...set, energyWh: 0.5 }, 'energyWh'],
  ['no reason', { ...set, reason: ' ' }, 'reason'],
  ['a reason of more than 500 characters', { ...set, reason: 'x'.repeat(501) }, 'reason'],
  ['an empty key', { ...set, key: '' }, 'key'],
  ['a key of more than 200 characters', { ...set, key: 'x'.repeat(201) }, 'key'],
  ['a day that does not exist', { kind: 'set_day', ...of, day: '2026-02-30', energyWh: 5 }, 'day'],
  ['the correction 0', { kind: 'undo', correction: 0, reason: 'x' }, 'correction'],
  ['another kind', { ...set, kind: 'change' }, 'kind'],
  ['a member of another kind', { ...set, day: '2026-11-20' }, ''],
])('a body with %s is refused', (_, body, path) => {
  const { error } = bodySchema.safeParse(body);
  expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
});

test('a reason of 500 characters, a key of 200 and the first instant of 1970 are taken', () => {
  const longest = { ...set, reason: 'x'.repeat(500), key: 'x'.repeat(200), from: '1970-01-01T00:00:00Z' };
  expect(bodySchema.safeParse(longest).success).toBe(true);
});

test('a request without a key gets one of its own, and another one keeps its key', () => {
  const request = requestOf(bodySchema.parse(set));
  const keyOf = (key?: string) =>
    withRequestKey({ request: { ...request, ...(key !== undefined && { key }) } }).request.key;
  expect(keyOf('mine')).toBe('mine');
  expect(keyOf()).toMatch(/^[0-9a-f-]{36}$/);
  expect(keyOf()).not.toBe(keyOf());
});
