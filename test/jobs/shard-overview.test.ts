import { expect, test } from 'vitest';
import { createLocalLeases, LEASE_MS } from '../../jobs/leases.ts';
import { createShardOverview } from '../../jobs/shard-overview.ts';

test('a shard that another worker has open is awake, but not one that this worker had itself at the survey', async () => {
  const leases = createLocalLeases(LEASE_MS);
  for (const id of ['own', 'other']) await leases.acquireOrRenew(id);
  const overview = createShardOverview(leases);
  expect(overview.wasAwakeElsewhere('other')).toBe(false);
  await overview.survey(['own']);
  expect(['own', 'other', 'unknown'].map(overview.wasAwakeElsewhere)).toEqual([false, true, false]);
  expect(overview.share(['own', 'new'])).toBe(3);
  overview.noteHibernated('other');
  expect(overview.wasAwakeElsewhere('other')).toBe(false);
  expect(overview.share([])).toBe(1);
  await overview.survey([]);
  expect(overview.wasAwakeElsewhere('own')).toBe(true);
  overview.forgetAwake();
  expect(overview.wasAwakeElsewhere('own')).toBe(false);
});

test('the share of a worker is rounded up, and counts each shard that is open or wanted once', async () => {
  const overview = createShardOverview({
    survey: async () => ({ workers: 2, awake: ['a', 'b', 'c'], free: ['d'] }),
  });
  await overview.survey([]);
  expect([[], ['c', 'd'], ['d', 'e']].map(overview.share)).toEqual([2, 2, 3]);
});
