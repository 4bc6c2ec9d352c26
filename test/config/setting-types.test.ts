import { expect, test } from 'vitest';
import { deviceTimeout, duration } from '../../src/config/setting-types.ts';

test('a duration has both of its bounds, and says them if it is beyond one', () => {
  const schema = duration({ minMs: 1_000, maxMs: 60_000 });
  expect([schema.parse('1s'), schema.parse('1m'), schema.parse(1_500)]).toEqual([1_000, 60_000, 1_500]);
  for (const beyond of ['999ms', '60001ms', 999, -1])
    expect(() => schema.parse(beyond)).toThrow('must be from 1s to 1m; a number alone is milliseconds');
});

test('a device is offline after 5 s to 30 days, or never', () => {
  const parse = (value: string) => deviceTimeout.safeParse(value).data;
  expect(['off', '5s', '30d'].map(parse)).toEqual(['off', 5_000, 30 * 86_400_000]);
  expect(['4999ms', '2592000001ms', 'never'].map(parse)).toEqual([undefined, undefined, undefined]);
});
