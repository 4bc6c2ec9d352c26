import { expect, test } from 'vitest';
import { createNameTable } from '../../src/decode/name-table.ts';
import type { Committer } from '../../src/warehouse/committer.ts';
import { createReusableCommitter } from '../../src/warehouse/reusable-committer.ts';
import { NOW_MS } from './batches.ts';
import { openFile } from './committer-fixture.ts';

/** The committer of a file, how many connections it has opened and closed, and the stored names. */
async function setUp() {
  const { connection, openCommitter, prepare } = await openFile();
  const names = createNameTable();
  const counts = { opened: 0, closed: 0 };
  const committer = createReusableCommitter({
    names,
    async open(): Promise<Committer> {
      counts.opened++;
      const { commit, close } = await openCommitter();
      return {
        commit,
        close() {
          counts.closed++;
          close();
        },
      };
    },
    onCloseFailed(error) {
      throw error;
    },
  });
  const commit = (write: ReturnType<typeof prepare>, onCommitting = () => {}) =>
    committer.commit([write], NOW_MS, onCommitting);
  const storedNames = async () =>
    (await connection.runAndReadAll('SELECT name FROM name ORDER BY name')).getRows().flat();
  return { connection, prepare, names, counts, committer, commit, storedNames };
}

test('the names of a commit that wrote nothing are stored by the next one', { tags: ['slow'] }, async () => {
  const { prepare, names, commit, storedNames } = await setUp();
  const first = prepare(undefined, 0, 10);
  const second = prepare(first.after, 10, 10);
  names.idOf('power');
  expect(await commit(second)).toMatchObject({ kind: 'out-of-step' });
  expect(await storedNames()).toEqual([]);
  names.idOf('voltage');
  expect(await commit(first)).toEqual({ kind: 'committed' });
  expect(await storedNames()).toEqual(['power', 'voltage']);
  expect(await commit(second)).toEqual({ kind: 'committed' });
  expect(await storedNames()).toEqual(['power', 'voltage']);
});

test('a commit that fails closes its connection, and the next one stores its names over a new one', async () => {
  const { connection, prepare, names, counts, commit, storedNames } = await setUp();
  await connection.run('CREATE UNIQUE INDEX unique_offset ON message (stream_offset)');
  await connection.run('INSERT INTO message SELECT 0, 5, 0, 0, NULL, NULL, 0, 0, NULL, [], [], NULL');
  names.idOf('power');
  await expect(commit(prepare(undefined, 0, 10))).rejects.toThrow(/Duplicate|unique/i);
  expect(counts).toEqual({ opened: 1, closed: 1 });
  await connection.run('DELETE FROM message');
  const first = prepare(undefined, 0, 10);
  expect(await commit(first)).toEqual({ kind: 'committed' });
  expect(await commit(prepare(first.after, 10, 10))).toEqual({ kind: 'committed' });
  expect(counts).toEqual({ opened: 2, closed: 1 });
  expect(await storedNames()).toEqual(['power']);
});

test('a connection that is retired while it commits is closed after the commit', async () => {
  const { prepare, counts, committer, commit } = await setUp();
  const first = prepare(undefined, 0, 10);
  let closedMeanwhile = -1;
  const outcome = await commit(first, () => {
    committer.retire();
    closedMeanwhile = counts.closed;
  });
  expect([outcome.kind, closedMeanwhile, counts]).toEqual(['committed', 0, { opened: 1, closed: 1 }]);
  committer.retire();
  expect(counts.closed).toBe(1);
});
