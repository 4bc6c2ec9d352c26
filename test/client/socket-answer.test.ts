import { describe, expect, test } from 'vitest';
import {
  answerOf,
  beginningFrame,
  countTogether,
  isAboutToken,
  mayBeError,
  placeOf,
  reasonOf,
} from '../../src/client/socket-answer.ts';
import { readPayload, type SocketPayload } from '../../src/client/socket-payload.ts';
import { createWaitingFrames } from '../../src/client/waiting-frames.ts';
import { MEBIBYTE } from '../../src/lib/units.ts';

const frame = (kind: SocketPayload['kind'], bytes: number | string = 1): SocketPayload => ({
  kind,
  bytes: typeof bytes === 'number' ? new Uint8Array(bytes) : Buffer.from(bytes),
});
const textOf = (payload: SocketPayload | undefined) => payload && Buffer.from(payload.bytes).toString();

test('a subscription starts at an offset with all its digits, at a time, or before all messages', () => {
  expect(placeOf({ kind: 'offset', offset: 2n ** 64n - 1n })).toEqual({ offset: '18446744073709551615' });
  expect(placeOf({ kind: 'timestamp', timestampMs: 5 })).toEqual({ timestamp: 5 });
  // Servers may treat 0 as absent.
  expect(placeOf({ kind: 'oldest' })).toEqual({ timestamp: 1 });
});

describe('frames form one answer', () => {
  test.each([
    ['none', [], 0],
    ['of one kind', [frame('cbor'), frame('cbor'), frame('json-line')], 2],
    ['unless a frame stands alone', [frame('alone'), frame('alone')], 1],
    ['and not with one that stands alone', [frame('cbor'), frame('alone')], 1],
    ['up to 4 MiB', [frame('cbor', 2 * MEBIBYTE), frame('cbor', 2 * MEBIBYTE), frame('cbor')], 2],
    ['or one that is larger', [frame('cbor', 5 * MEBIBYTE), frame('cbor')], 1],
    ['with at most 10,000 messages', Array.from({ length: 10_001 }, () => frame('cbor')), 10_000],
  ])('%s', (_, frames, count) => expect(countTogether(frames)).toBe(count));

  test('as a sequence of CBOR, or as lines of JSON', () => {
    expect(Buffer.from(answerOf([frame('cbor', 'ab'), frame('cbor', 'c')]).bytes).toString()).toBe('abc');
    const lines = answerOf([frame('json-line', '{"a":1}'), frame('json-line', '{}')]);
    expect(Buffer.from(lines.bytes).toString()).toBe('{"a":1}\n{}\n');
  });

  test('with the start of the subscription; its position counts only without a frame', () => {
    const beginning = { nextOffset: 7n, epoch: 'e', clamped: 'retention' } as const;
    expect(textOf(beginningFrame(beginning))).toBe(
      '{"messages":[],"nextOffset":"7","epoch":"e","clamped":"retention"}',
    );
    expect(textOf(beginningFrame(beginning, frame('json-line')))).not.toContain('nextOffset');
    expect(beginningFrame(beginning, frame('cbor')).kind).toBe('cbor');
  });
});

test.each([
  [{ reason: 'gone' }, 'gone'],
  [{ message: 'm', error: 'e' }, 'm'],
  [{ error: 'e' }, 'e'],
  ['text', 'text'],
  ['x'.repeat(300), 'x'.repeat(200)],
  [undefined, 'the server has ended the subscription without a reason'],
  [{ reason: '' }, 'the server has ended the subscription without a reason'],
])('the reason of %j is "%s"', (payload, reason) => expect(reasonOf(payload)).toBe(reason));

test('another token may help if the words are about tokens', () => {
  expect(isAboutToken('fine', 'Unauthorised')).toBe(true);
  expect(isAboutToken('session expired')).toBe(true);
  expect(isAboutToken('the table is unknown')).toBe(false);
});

test('only a short frame may be an error', () => {
  expect(mayBeError(frame('json-line', '{"error":"gone"}'))).toBe(true);
  expect(mayBeError(frame('json-line', `{"error":"${'x'.repeat(4_096)}"}`))).toBe(false);
  expect(mayBeError(frame('json-line', '{"messages":[]}'))).toBe(false);
});

describe('a payload', () => {
  const json = '{"nextOffset":"5"}';
  const bytes = Buffer.from([0xa0]);
  test.each([
    ['bytes', bytes, 'cbor'],
    ['an array buffer', Uint8Array.from(bytes).buffer, 'cbor'],
    ['wrapped bytes', { payload: bytes }, 'cbor'],
    ['a Buffer after JSON', { data: bytes.toJSON() }, 'cbor'],
    ['base64', bytes.toString('base64'), 'cbor'],
    ['text of JSON', ` ${json} `, 'json-line'],
    ['text of JSON with several lines', '{\n}', 'alone'],
    ['an object', { nextOffset: '5' }, 'json-line'],
  ])('can be %s', (_, payload, kind) => {
    expect(readPayload(payload)).toEqual({ kind, bytes: expect.any(Uint8Array) });
    if (kind === 'cbor') expect([...readPayload(payload)!.bytes]).toEqual([0xa0]);
    if (kind === 'json-line') expect(textOf(readPayload(payload))).toBe(json);
  });

  test.each(['', '  ', 'not base64!', null, undefined, 5, true])('is empty if it is %j', (payload) => {
    expect(readPayload(payload)).toBeUndefined();
  });

  test('with an offset that has lost digits is refused, and other large numbers are not', () => {
    expect(() => readPayload({ nextOffset: 2 ** 60 })).toThrow(/nextOffset is a number that has lost digits/);
    expect(textOf(readPayload({ power: 1e300 }))).toBe('{"power":1e+300}');
  });
});

test('frames wait up to a size, and make room when they are taken', () => {
  const waiting = createWaitingFrames(10);
  const add = (bytes: number) => waiting.add({ ...frame('cbor', bytes), acknowledge: () => undefined });
  add(6);
  expect(waiting.hasRoomFor(frame('cbor', 4))).toBe(true);
  expect(waiting.hasRoomFor(frame('cbor', 5))).toBe(false);
  add(4);
  expect(waiting.takeTogether()).toHaveLength(2);
  expect([waiting.count(), waiting.hasRoomFor(frame('cbor', 10))]).toEqual([0, true]);
});

test('a frame may be an error if it has the word, and less than 4 KiB', () => {
  const sized = (bytes: number) => frame('cbor', `${'x'.repeat(bytes - 5)}error`);
  expect([mayBeError(sized(4_095)), mayBeError(sized(4_096))]).toEqual([true, false]);
});
