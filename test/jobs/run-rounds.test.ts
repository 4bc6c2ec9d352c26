import { expect, test } from 'vitest';
import { runRounds } from '../../jobs/run-rounds.ts';
import { createForwardingLogger } from '../../src/lib/logger.ts';

test('of rounds that fail one after the other only the first is logged, and again after one that has succeeded', async () => {
  const logged: string[] = [];
  const logger = createForwardingLogger((line) => logged.push(JSON.parse(line).error));
  const failures = [true, true, false, true, true];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let count = 0;
  const rounds = runRounds(
    async () => {
      const fails = failures[count++];
      if (fails === undefined) end();
      if (fails) throw new Error(`round ${count} failed`);
    },
    { everyMs: 0, logger },
  );
  await ended;
  await rounds.stop();
  expect(logged).toEqual(['round 1 failed', 'round 4 failed']);
  const before = count;
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(count).toBe(before);
});
