import { expect, test } from 'vitest';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createBackgroundCollection } from '../../src/pipeline/collect-in-background.ts';
import { settle } from '../support/test-clock.ts';

/** Collections of a bucket that end when the test says so. `events` has what became of each. */
function setUp() {
  const events: string[] = [];
  const state = { isDue: true, end: (_error?: Error) => {} };
  const collection = createBackgroundCollection({
    owner: {
      isCollectionDue: () => state.isDue,
      async collect({ signal } = {}) {
        events.push('begins');
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        state.end = (error) => (error ? reject(error) : resolve());
        signal?.addEventListener('abort', () => reject(signal.reason));
        if (signal?.aborted) reject(signal.reason);
        await promise.then(
          () => events.push('ends'),
          (error: Error) => {
            events.push(signal?.aborted ? 'interrupted' : 'fails');
            throw error;
          },
        );
        return { commits: 0, objects: 0, bytes: 0 };
      },
    },
    workgroupId: 'acme',
    onLost: () => void events.push('lost'),
    logger: silentLogger,
  });
  return { events, state, collection };
}

test('one collection runs at a time, if it is due, and a failed one does not stop later ones', async () => {
  const { events, state, collection } = setUp();
  collection.startIfDue();
  collection.startIfDue();
  expect(events).toEqual(['begins']);
  state.end(new Error('the bucket does not answer'));
  await settle();
  collection.startIfDue();
  state.end();
  await settle();
  state.isDue = false;
  collection.startIfDue();
  expect(events).toEqual(['begins', 'fails', 'begins', 'ends']);
});

test('a commit interrupts a collection and waits for its end, and the next one runs to its end', async () => {
  const { events, state, collection } = setUp();
  await collection.interrupt();
  collection.startIfDue();
  await collection.interrupt();
  expect(events).toEqual(['begins', 'interrupted']);
  collection.startIfDue();
  await settle();
  state.end();
  await settle();
  expect(events.slice(2)).toEqual(['begins', 'ends']);
});

test('a collection that finds another owner says so', async () => {
  const { events, state, collection } = setUp();
  collection.startIfDue();
  state.end(new StaleOwnerError('acme', 1n, 2n));
  await settle();
  expect(events).toEqual(['begins', 'fails', 'lost']);
});
