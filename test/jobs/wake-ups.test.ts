import { expect, test } from 'vitest';
import type { ShardLoop } from '../../jobs/start-shard-loop.ts';
import { createWakeUps, type WorkerPlace } from '../../jobs/wake-ups.ts';
import type { ClosedShardState } from '../../jobs/worker-dependencies.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestClock, settle } from '../support/test-clock.ts';

type Options = Parameters<typeof createWakeUps>[0];

/** A worker. "open" is open here, "mine" is being opened, "theirs" is open elsewhere. */
function setUp(
  options: {
    place?: WorkerPlace;
    states?: Record<string, ClosedShardState | Error>;
    withoutNews?: string;
  } = {},
) {
  const { place = 'only', states = {}, withoutNews } = options;
  const clock = createTestClock();
  const done: string[] = [];
  const configured = ['open', 'mine', 'theirs', 'closed', 'another'];
  const loop = {
    noteNews: () => done.push('news to open'),
    noteDue: (stage) => done.push(`${stage} to open`),
  } as Partial<ShardLoop> as ShardLoop;
  const wakeUps = createWakeUps({
    workgroups: { get: (id) => (configured.includes(id) ? { id } : undefined) } as Options['workgroups'],
    ownedShards: {
      openLoop: (id) => (id === 'open' ? loop : undefined),
      isOwned: (id) => id === 'open' || id === 'mine',
    },
    demand: {
      want: (id, how) => done.push(`want ${id}${how?.isBrief ? ' briefly' : ''}`),
      isWanted: (id) => id === 'another',
    },
    isAwakeElsewhere: (id) => id === 'theirs',
    place: () => place,
    hasNews: (id) => id !== withoutNews,
    async assess(id) {
      done.push(`assess ${id}`);
      const state = states[id] ?? 'idle';
      if (state instanceof Error) throw state;
      return state;
    },
    startTimer: clock.startTimer,
    logger: silentLogger,
  });
  return { wakeUps, done, clock };
}

test.each<[about: string, workgroupId: string, place: WorkerPlace, done: string[]]>([
  ['go to a shard that is open here', 'open', 'full', ['news to open']],
  ['open a shard that this worker has already', 'mine', 'full', ['want mine']],
  ['change nothing if another worker has the shard open', 'theirs', 'only', []],
  ['change nothing if the workgroup is not configured', 'gone', 'only', []],
  ['open a shard at once if there is no other worker', 'closed', 'only', ['want closed']],
  [
    'are assessed at once by a worker below its share',
    'closed',
    'below-share',
    ['assess closed', 'want closed'],
  ],
])('news %s', async (_, workgroupId, place, expected) => {
  const { wakeUps, done } = setUp({ place, states: { closed: 'behind' } });
  wakeUps.noteNews(workgroupId);
  await settle();
  expect(done).toEqual(expected);
});

test('news are assessed later by a worker that has its share, so that others are first', async () => {
  const { wakeUps, done, clock } = setUp({ place: 'full', states: { closed: 'behind' } });
  wakeUps.noteNews('closed');
  await clock.advance(299);
  expect(done).toEqual([]);
  await clock.advance(1);
  expect(done).toEqual(['assess closed', 'want closed']);
});

test('a stage that is due runs in the open shard, or waits for the shard, which is opened for a moment', () => {
  const { wakeUps, done } = setUp();
  wakeUps.noteDue('open', 'export');
  wakeUps.noteDue('closed', 'export');
  wakeUps.noteDue('closed', 'maintain');
  wakeUps.noteDue('closed', 'export');
  wakeUps.noteDue('theirs', 'export');
  wakeUps.noteDue('gone', 'export');
  expect(done).toEqual([
    'export to open',
    'want closed briefly',
    'want closed briefly',
    'want closed briefly',
  ]);
  expect(wakeUps.takeDue('closed')).toEqual(['export', 'maintain']);
  for (const id of ['closed', 'open', 'theirs', 'gone']) expect(wakeUps.takeDue(id)).toEqual([]);
});

test.each<[about: string, options: Parameters<typeof setUp>[0], done: string[], due: string[]]>([
  ['is behind is opened', { states: { closed: 'behind' } }, ['assess closed', 'want closed'], []],
  [
    'is on a new day is opened to clean up',
    { states: { closed: 'due' } },
    ['assess closed', 'want closed briefly'],
    ['maintain'],
  ],
  ['has nothing to do stays closed', { states: { closed: 'idle' } }, ['assess closed'], []],
  ['has no data yet stays closed', { states: { closed: 'new' } }, ['assess closed'], []],
  [
    'cannot be assessed is opened',
    { states: { closed: new Error('away') } },
    ['assess closed', 'want closed'],
    [],
  ],
  ['has no news of its stream is opened', { withoutNews: 'closed' }, ['want closed'], []],
])('a closed shard that %s', async (_, options, done, due) => {
  const { wakeUps, done: happened } = setUp(options);
  // The others are open, or will be.
  await wakeUps.assess(['open', 'mine', 'theirs', 'closed', 'another']);
  expect(happened).toEqual(done);
  expect(wakeUps.takeDue('closed')).toEqual(due);
});
