import { expect, test } from 'vitest';
import { mustBeSame } from '../../src/conformance/sample-messages.ts';
import type { Sent } from '../../src/conformance/sent-request.ts';
import type { Message } from '../../src/conformance/server-answer.ts';

const sent: Sent = { kind: 'http', url: 'http://127.0.0.1:1/', token: undefined, headers: {} };
const message = (offset: bigint, data = {}): Message => ({
  offset,
  storeTimeMs: 0,
  fields: { offset, data },
});
const [first, second] = [message(7n, { wh: 1 }), message(8n, { wh: 2 })] as const;

test.each<[about: string, seen: Message[], saw: string]>([
  ['in another order', [second, first], 'messages 8, 7 instead of 7, 8'],
  ['without the last one', [first], 'messages 7 instead of 7, 8'],
  ['of an empty page', [], 'messages none instead of 7, 8'],
  ['with another content', [first, message(8n)], 'message 8 is not as another request returned it'],
])('messages %s are not the same', (_, messages, saw) => {
  expect(() => mustBeSame({ messages, sent }, [first, second], 'a page')).toThrow(`a page: ${saw}`);
});

test('messages are the same if all of their members are', () => {
  const copies = [first, second].map((one) => structuredClone(one));
  expect(() => mustBeSame({ messages: copies, sent }, [first, second], 'a page')).not.toThrow();
});
