import { expect, test } from 'vitest';
import { refusedPayload } from '../../src/inputs/refused-payload.ts';

const entryOf = (payload: Uint8Array, topic = 'a/b', reason = 'no number') =>
  refusedPayload('house', { topic, payload }, reason, 7);

test('an entry has the input, the topic, the reason, the arrival and the payload with its size', () => {
  expect(entryOf(Buffer.from('on'))).toEqual({
    actor: 'input house',
    action: 'input.refused',
    target: 'a/b',
    event_time: 7,
    data: { reason: 'no number', payload: 'on', bytes: 2 },
  });
});

test.each<[about: string, payload: Uint8Array, kept: string]>([
  ['text', Buffer.from('a'.repeat(2_001)), 'a'.repeat(2_000)],
  ['text of several bytes each', Buffer.from('😀'.repeat(1_001)), '😀'.repeat(1_000)],
  ['text of three bytes each, cut within one', Buffer.from('€'.repeat(3_000)), '€'.repeat(2_000)],
  [
    'text with half a pair of surrogates at its end',
    Buffer.from(`a${'😀'.repeat(1_000)}`),
    `a${'😀'.repeat(999)}\ufffd`,
  ],
  ['bytes that are no text, in base64', Uint8Array.of(0xff, 0xfe), '//4='],
])('at most 2,000 characters of a payload are kept: %s', (_, payload, kept) => {
  expect(entryOf(payload).data).toMatchObject({ payload: kept, bytes: payload.length });
});

test('a topic and a reason are shortened to 4,096 characters', () => {
  const { target, data } = entryOf(Buffer.from(''), 't'.repeat(4_097), 'r'.repeat(4_096));
  expect([target, data]).toEqual([
    `${'t'.repeat(4_095)}…`,
    expect.objectContaining({ reason: 'r'.repeat(4_096) }),
  ]);
});
