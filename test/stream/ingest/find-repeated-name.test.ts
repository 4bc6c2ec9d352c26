import { expect, test } from 'vitest';
import { findRepeatedName } from '../../../src/stream/ingest/find-repeated-name.ts';

test.each<[text: string, name: string, position: number]>([
  ['{"a":1,"a":2}', 'a', 7],
  ['[{"a":1},{"b":1,"b":2}]', 'b', 16],
  ['{"a":{"b":1,"b":2}}', 'b', 12],
  ['{"a":{"a":1},"a":2}', 'a', 13],
  ['{"a":[{"b":1}],"a":2}', 'a', 15],
  ['{"a":1,"\\u0061":2}', 'a', 7],
  ['{"a\\"b":1,"a\\"b":2}', 'a"b', 10],
  ['{"":1, "" :2}', '', 7],
])('%s has a name twice in one object', (text, name, position) => {
  expect(findRepeatedName(text)).toEqual({ name, position });
});

test.each([
  '{"a":1,"b":"a"}',
  '{"a":"a","b":"a"}',
  '{"a":["b","b"],"b":1}',
  '[{"a":1},{"a":1}]',
  '{"a":{"b":1},"b":{"a":1}}',
  '{"a":"{\\"a\\":1,\\"a\\":2}"}',
  '["a","a","a"]',
  '1',
])('%s has no name twice in one object', (text) => {
  expect(findRepeatedName(text)).toBeUndefined();
});
