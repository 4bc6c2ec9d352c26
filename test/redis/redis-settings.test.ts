import { expect, test } from 'vitest';
import { describeReply } from '../../src/redis/redis-settings.ts';

test('the words for an error reply name what to change for the stream, and for the queue', () => {
  const full = "OOM command not allowed when used memory > 'maxmemory'.";
  expect(describeReply(full, 'stream')).toContain('shorten stream.retention');
  expect(describeReply(full, 'queue')).toBe('its memory is full: raise maxmemory');
  const password = 'WRONGPASS invalid username-password pair or user is disabled.';
  expect(describeReply(password, 'stream')).toContain('stream.redisUrl');
  expect(describeReply(password, 'queue')).toContain('queue.redisUrl');
  const refused = "NOPERM User wattline has no permissions to run the 'evalsha' command";
  expect(describeReply(refused, 'stream')).toContain('docs/stream.md');
  expect(describeReply(refused, 'queue')).not.toContain('stream');
});

test('the words for an unknown error reply are its first 200 characters', () => {
  expect(describeReply(`ERR ${'x'.repeat(300)}`, 'queue')).toBe(`ERR ${'x'.repeat(196)}`);
});
