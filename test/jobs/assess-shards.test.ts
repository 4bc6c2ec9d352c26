import { expect, test } from 'vitest';
import { assessShards } from '../../jobs/assess-shards.ts';
import { silentLogger } from '../../src/lib/logger.ts';

test('a closed shard is behind if its stream tells no news, or if its state cannot be found out', async () => {
  const assessed: string[] = [];
  const states = await assessShards(['idle', 'due', 'silent', 'broken'], {
    hasNews: (id) => id !== 'silent',
    async assess(id) {
      assessed.push(id);
      if (id === 'broken') throw new Error('no');
      return id === 'due' ? 'due' : 'idle';
    },
    logger: silentLogger,
  });
  expect(Object.fromEntries(states)).toEqual({
    idle: 'idle',
    due: 'due',
    silent: 'behind',
    broken: 'behind',
  });
  expect(assessed).not.toContain('silent');
});
