import { expect, test } from 'vitest';
import { offsetOf } from '../../../src/contract/offset.ts';
import type { RedisConnection } from '../../../src/redis/redis-connection.ts';
import { readRedisHead, watchRedisLogs } from '../../../src/stream/log/redis/redis-heads.ts';

/** What Redis has of the log of "home": epoch, last offset, and the offset up to which it was trimmed. */
function headOf(fields: Array<string | null>) {
  const redis = {
    fields: async (key: string, names: readonly string[]) => {
      expect([key, names]).toEqual([
        'wattline:stream:{home}:head',
        ['epoch', 'ms', 'sequence', 'trimmedMs', 'trimmedSequence'],
      ]);
      return fields;
    },
  } as unknown as RedisConnection;
  return readRedisHead(redis, 'home');
}

test.each<[about: string, fields: Array<string | null>, head: object | undefined]>([
  ['without a log', [null, null, null, null, null], undefined],
  ['of a part of a log', ['e', '5', null, '-1', '0'], undefined],
  ['of a new log', ['e', '-1', '0', '-1', '0'], { epoch: 'e', next: 0n, isEmpty: true }],
  [
    'of a log with messages',
    ['e', '5', '7', '-1', '0'],
    { epoch: 'e', next: offsetOf(5) + 8n, isEmpty: false },
  ],
  [
    'of a log that was trimmed',
    ['e', '5', '7', '5', '6'],
    { epoch: 'e', next: offsetOf(5) + 8n, isEmpty: false },
  ],
  [
    'of a log without messages any more',
    ['e', '5', '7', '5', '7'],
    { epoch: 'e', next: offsetOf(5) + 8n, isEmpty: true },
  ],
])('the end in Redis %s', async (_, fields, head) => {
  expect(await headOf(fields)).toEqual(head);
});

test('each append of any process is told with its workgroup', async () => {
  const told: string[] = [];
  let publish: (channel: string) => void = () => undefined;
  const redis = {
    subscribePattern: async (pattern: string, listener: (channel: string) => void) => {
      expect(pattern).toBe('wattline:stream:{*}:news');
      publish = listener;
    },
  } as unknown as RedisConnection;
  await watchRedisLogs(redis, (workgroupId) => told.push(workgroupId));
  for (const channel of ['wattline:stream:{home}:news', 'wattline:stream:{a}b}:news', 'other:{home}:news'])
    publish(channel);
  expect(told).toEqual(['home', 'a}b']);
});
