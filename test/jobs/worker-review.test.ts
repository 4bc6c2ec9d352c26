import { expect, test } from 'vitest';
import { createLocalLeases, LEASE_MS } from '../../jobs/leases.ts';
import { createWorkerReview } from '../../jobs/worker-review.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';

async function setUp(tidy: () => Promise<void> = async () => undefined) {
  const events: string[] = [];
  const note = (event: string) => async () => void events.push(event);
  const leases = createLocalLeases(LEASE_MS);
  for (const id of ['home', 'removed']) {
    await leases.acquireOrRenew(id);
    await leases.release(id, 'awake');
  }
  const config = configSchema.parse({ workgroups: [{ id: 'home' }, { id: 'barn' }] });
  const survey = await leases.survey();
  const review = createWorkerReview({
    backend: { leases, tidy: () => note('tidy')().then(tidy) },
    workgroups: createWorkgroups(config),
    overview: { newest: () => survey },
    jobs: { review: note('review'), handleAll: note('handle all'), close: note('close') },
    wakeUps: { assess: async (ids) => void events.push(`assess ${ids.join()}`) },
    startup: { noteAssessed: () => void events.push('assessed') },
    logger: silentLogger,
  });
  return { review, events, leases };
}

const each = ['review', 'assess home,barn', 'assessed', 'tidy'];

test('a review repairs the schedules, assesses all workgroups and cleans up', async () => {
  const { review, events, leases } = await setUp();
  await review.run({ isClockSet: false });
  expect(events).toEqual(each);
  // The workgroup that is not configured any more needs no worker.
  expect((await leases.survey()).free).toEqual(['home']);
});

test('after the clock was set, each job is handled, too, because it may be missed', async () => {
  const { review, events } = await setUp();
  await review.run({ isClockSet: true });
  expect(events).toEqual(each.toSpliced(1, 0, 'handle all'));
});

test('a store that cannot be cleaned up now does not end the worker', async () => {
  const { review, events } = await setUp(() => Promise.reject(new Error('away')));
  await review.run({ isClockSet: false });
  expect(events).toEqual(each);
});
