import { expect, test } from 'vitest';
import { runAtATime } from '../../src/lib/run-at-a-time.ts';

test('after a failure no work begins, work under way ends, and the failure is thrown', async () => {
  const events: string[] = [];
  const slow = Promise.withResolvers<void>();
  const run = runAtATime(['slow', 'bad', 'next'], 2, async (item) => {
    events.push(`${item} begins`);
    if (item === 'bad') {
      slow.resolve();
      throw new Error('bad is refused');
    }
    await slow.promise;
    events.push(`${item} ends`);
  });
  await expect(run).rejects.toThrow('bad is refused');
  expect(events).toEqual(['slow begins', 'bad begins', 'slow ends']);
});
