import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { idleNoteOf, type StreamEnd } from '../../src/pipeline/idle-marker.ts';
import { openRedisConnection, type RedisConnection } from '../../src/redis/redis-connection.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { openReplicaOwner } from '../../src/replica/replica-owner.ts';
import { createSharedIdleNotes } from '../../src/service/idle-note-store.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { assignmentOf } from '../pipeline/answers.ts';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const END: StreamEnd & { isEmpty: boolean } = { epoch: 'log-1', next: 100n, isEmpty: false };

/** Machines with separate data folders and the same bucket. */
function setUp() {
  const clock = createTestClock(Date.UTC(2026, 10, 20, 12));
  const store = createFolderStore(tempDir());
  return {
    clock,
    store,
    machine(redis?: RedisConnection, own = store) {
      const assignment = assignmentOf(tempDir());
      const notes = createSharedIdleNotes({ redis, storeOf: () => own, clock, logger: silentLogger });
      const assess = (end: typeof END | 'no stream' = END) =>
        notes.assess(assignment, end === 'no stream' ? undefined : end);
      return { assignment, notes, assess };
    },
    async claim(workgroupId: string) {
      const { commit } = await claimReplica(store, { workgroupId, clock });
      return openReplicaOwner({
        store,
        claim: commit,
        root: tempDir(),
        record: async () => undefined,
        clock,
      });
    },
  };
}

test('the newest commit says that a workgroup rests, until another owner claims it', async () => {
  const { clock, machine, claim } = setUp();
  const first = machine();
  const { assignment } = first;
  const { id } = assignment.workgroup;
  expect([await first.assess('no stream'), await first.assess()]).toEqual(['new', 'behind']);

  const owner = await claim(id);
  expect(await machine().assess()).toBe('behind');
  // A workgroup that has data is not new, even if the stream has forgotten its messages.
  expect(await machine().assess({ ...END, isEmpty: true })).toBe('behind');

  await owner.noteHibernation(idleNoteOf(assignment, END, clock.now()));
  const other = machine();
  expect(await other.assess()).toBe('idle');
  expect(await other.assess({ ...END, next: 101n })).toBe('behind');
  // The log of a lost machine. A new one without messages has nothing to read.
  expect(await other.assess('no stream')).toBe('idle');
  expect(await other.assess({ epoch: 'log-2', next: 0n, isEmpty: true })).toBe('idle');
  expect(await other.assess({ epoch: 'log-2', next: 1n, isEmpty: false })).toBe('behind');
  await clock.advance(DAY_MS);
  expect(await other.assess()).toBe('due');

  await claim(id);
  expect(await machine().assess()).toBe('behind');
  await expect(owner.noteHibernation(idleNoteOf(assignment, END, clock.now()))).rejects.toMatchObject({
    code: 'StaleOwner',
  });
});

/** Starts a Redis. The function opens a connection to it. */
async function openRedis() {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  return async () => {
    const redis = await openRedisConnection({ url: server.url, use: 'queue', logger: silentLogger });
    onTestFinished(() => redis.close());
    return redis;
  };
}

test('all machines see the note of one machine in Redis', async () => {
  const open = await openRedis();
  const { machine, claim, clock } = setUp();
  const [first, second] = [machine(await open()), machine(await open())];
  const { id } = first.assignment.workgroup;
  const owner = await claim(id);
  await first.notes.write(first.assignment, END, clock.now());
  expect([await first.assess(), await second.assess()]).toEqual(['idle', 'idle']);
  expect(await second.assess({ ...END, next: 101n })).toBe('behind');

  // The second machine opens it and rests later.
  await second.notes.remove(second.assignment);
  expect([await first.assess(), await second.assess()]).toEqual(['behind', 'behind']);
  const later = { ...END, next: 101n };
  await second.notes.write(second.assignment, later, clock.now());
  expect([await first.assess(later), await first.assess()]).toEqual(['idle', 'behind']);

  // Redis has lost the note. The newest commit brings it back.
  await second.notes.remove(second.assignment);
  await owner.noteHibernation(idleNoteOf(second.assignment, later, clock.now()));
  expect(await first.assess(later)).toBe('idle');
});

test('a machine that has looked at the newest commit keeps the note that another one writes meanwhile', async () => {
  const open = await openRedis();
  const { machine, claim, clock, store } = setUp();
  const second = machine(await open());
  const { assignment } = second;
  const later = { ...END, next: 101n };
  const first = machine(await open(), {
    ...store,
    async get(...asked) {
      const read = await store.get(...asked);
      await second.notes.write(assignment, later, clock.now());
      return read;
    },
  });
  const owner = await claim(assignment.workgroup.id);
  await owner.noteHibernation(idleNoteOf(assignment, END, clock.now()));
  // It has found the older note in the commit.
  expect(await first.assess()).toBe('idle');
  expect(await first.assess(later)).toBe('idle');
});
