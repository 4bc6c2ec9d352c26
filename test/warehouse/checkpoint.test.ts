import { existsSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  type Checkpoint,
  checkpointOf,
  isSamePosition,
  readCheckpoints,
  setCheckpoint,
} from '../../src/warehouse/checkpoint.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { batchOf, NOW_MS } from './batches.ts';
import { openTestShard } from './warehouse-fixture.ts';

const position: Checkpoint = {
  origin: 'stream',
  logEpoch: 'log-1',
  nextOffset: 10n,
  lastOffset: 9n,
  lastStoreTimeMs: 5,
  batchId: 3,
  updatedAtMs: 7,
};

test('a row without a position is no checkpoint, and unknown facts are undefined', () => {
  const none = {
    log_epoch: null,
    next_offset: null,
    last_offset: null,
    last_store_time_ms: null,
    batch_id: null,
    updated_at_ms: null,
  };
  expect(checkpointOf('stream', none)).toBeUndefined();
  // The start of a log has an offset too.
  expect(checkpointOf('stream', { ...none, next_offset: 0n, batch_id: 0n, updated_at_ms: 7n })).toEqual({
    origin: 'stream',
    logEpoch: undefined,
    nextOffset: 0n,
    lastOffset: undefined,
    lastStoreTimeMs: undefined,
    batchId: 0,
    updatedAtMs: 7,
  });
});

test('two positions are the same if log and offsets are, whatever else differs', () => {
  expect(isSamePosition(position, { ...position, batchId: 4, updatedAtMs: 8, lastStoreTimeMs: 6 })).toBe(
    true,
  );
  expect(isSamePosition(undefined, undefined)).toBe(true);
  expect(isSamePosition(position, undefined)).toBe(false);
  expect(isSamePosition(position, { ...position, nextOffset: 11n })).toBe(false);
  expect(isSamePosition(position, { ...position, lastOffset: undefined })).toBe(false);
  expect(isSamePosition(position, { ...position, logEpoch: 'log-2' })).toBe(false);
});

test('a checkpoint is set for its origin only, and deleted if there is none', () => {
  const checkpoints = new Map([['import', position]]);
  setCheckpoint(checkpoints, 'stream', position);
  expect([...checkpoints.keys()]).toEqual(['import', 'stream']);
  setCheckpoint(checkpoints, 'import', undefined);
  expect([...checkpoints]).toEqual([['stream', position]]);
});

test('the checkpoints of a file are read by origin', async () => {
  const shard = await openTestShard();
  await shard.land(batchOf(0, 10));
  await shard.land(batchOf(0, 3, { origin: 'import-1' }));
  const checkpoints = await shard.read(readCheckpoints);
  expect([...checkpoints.keys()].sort()).toEqual(['import-1', 'stream']);
  expect(checkpoints.get('stream')).toEqual(await shard.checkpoint('stream'));
  expect(checkpoints.get('stream')).toMatchObject({ lastOffset: 9n, updatedAtMs: NOW_MS });
  expect(checkpoints.get('import-1')).toMatchObject({ origin: 'import-1', lastOffset: 2n });
});

const walBytes = ({ path }: Shard) => (existsSync(`${path}.wal`) ? statSync(`${path}.wal`).size : 0);

const ROWS = 60_000;
/** Fills about 3 MB of the write-ahead log. A larger insert would go into the file at once. */
const fillLog = (shard: Shard, round: number) =>
  shard.transaction((connection) =>
    connection.run(
      `INSERT INTO name SELECT ${round * 1_000_000} + range, 'name ' || md5(range::VARCHAR) FROM range(${ROWS})`,
    ),
  );

test('a small write-ahead log stays, and a large one is emptied into the file', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await fillLog(shard, 1);
  const small = walBytes(shard);
  expect(small).toBeGreaterThan(0);
  await shard.checkpointIfDue();
  expect(walBytes(shard)).toBe(small);

  for (let round = 2; round < 5; round++) await fillLog(shard, round);
  expect(walBytes(shard)).toBeGreaterThan(4 * 1024 ** 2);
  await shard.checkpointIfDue();
  expect(walBytes(shard)).toBe(0);
  const rows = await shard.read(async (connection) =>
    (await connection.runAndReadAll('SELECT count(*)::INTEGER FROM name WHERE name_id >= 1000000')).getRows(),
  );
  expect(rows).toEqual([[4 * ROWS]]);
});

test('the write-ahead log of a warehouse that rests is emptied, unless it has almost nothing', async () => {
  const shard = await openTestShard();
  await fillLog(shard, 1);
  await shard.checkpointIfDue();
  expect(walBytes(shard)).toBeGreaterThan(0);
  await shard.checkpointIfDue();
  expect(walBytes(shard)).toBe(0);

  // Stages note their progress, which is no change.
  await shard.transaction(
    (connection) => connection.run("INSERT INTO name VALUES (9000000, 'a single one')"),
    { isQuiet: true },
  );
  const little = walBytes(shard);
  await shard.checkpointIfDue();
  expect([little > 0, walBytes(shard)]).toEqual([true, little]);
});

test('a large write-ahead log waits for a running transaction, and landing continues after it', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  for (let round = 1; round < 4; round++) await fillLog(shard, round);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const events: string[] = [];
  const writing = shard.transaction(async () => {
    begin();
    await held;
    events.push('written');
  });
  await began;
  const emptied = shard.checkpointIfDue().then(() => events.push('emptied'));
  release();
  await Promise.all([writing, emptied]);
  expect(events).toEqual(['written', 'emptied']);
  expect(walBytes(shard)).toBe(0);
  expect(await shard.land(batchOf(0, 10))).toMatchObject({ kind: 'landed', messages: 10 });
});
