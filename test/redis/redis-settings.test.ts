import { expect, test } from 'vitest';
import { describeReply } from '../../src/redis/redis-settings.ts';

const rights = 'this user may not run scripts and commands on keys and channels that begin with wattline';

/** The replies are those of Redis 7. */
test.each<[code: string, reply: string, words: string | { stream: string; queue: string }]>([
  [
    'OOM',
    "OOM command not allowed when used memory > 'maxmemory'.",
    {
      stream: 'its memory is full: raise maxmemory, or shorten stream.retention',
      queue: 'its memory is full: raise maxmemory',
    },
  ],
  [
    'MISCONF',
    'MISCONF Errors writing to the AOF file: No space left on device',
    'it cannot write to its disk: read its own log',
  ],
  [
    'READONLY',
    "READONLY You can't write against a read only replica.",
    'it is a replica now: the address must lead to the master',
  ],
  ['LOADING', 'LOADING Redis is loading the dataset in memory', 'it is reading its data after a start'],
  [
    'NOREPLICAS',
    'NOREPLICAS Not enough good replicas to write.',
    'it has fewer replicas than min-replicas-to-write wants',
  ],
  [
    'NOAUTH',
    'NOAUTH Authentication required.',
    {
      stream: 'it wants a password: set it in stream.redisUrl',
      queue: 'it wants a password: set it in queue.redisUrl',
    },
  ],
  [
    'WRONGPASS',
    'WRONGPASS invalid username-password pair or user is disabled.',
    {
      stream: 'the user or the password in stream.redisUrl is wrong, or the user is off',
      queue: 'the user or the password in queue.redisUrl is wrong, or the user is off',
    },
  ],
  [
    'NOPERM',
    "NOPERM this user has no permissions to run the 'evalsha' command",
    { stream: `${rights}:stream; docs/stream.md has the rights it needs`, queue: rights },
  ],
])('the reply %s says what to change for the stream, and for the queue', (_code, reply, words) => {
  const { stream, queue } = typeof words === 'string' ? { stream: words, queue: words } : words;
  // Within a script, Redis 6.2 puts the reply behind its own words, and Redis 7 in front of them.
  const script = 'a7f30a777e3a14deb342c34c70e37dd1e66eb928';
  const old = `ERR Error running script (call to f_${script}): @user_script:1: -${reply}`;
  for (const full of [reply, `${reply} script: ${script}, on @user_script:1.`, old]) {
    expect(describeReply(full, 'stream')).toBe(stream);
    expect(describeReply(full, 'queue')).toBe(queue);
  }
});

test('the words for an unknown error reply are its first 200 characters', () => {
  expect(describeReply(`ERR ${'x'.repeat(300)}`, 'queue')).toBe(`ERR ${'x'.repeat(196)}`);
});
