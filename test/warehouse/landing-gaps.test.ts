import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { query, queryText } from '../../src/warehouse/query.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf, columnsOf, messagesFrom, NOW_MS } from './batches.ts';
import { landedOffsets, openTestShard, rowsOf } from './warehouse-fixture.ts';

const upTo = (end: number) => Array.from({ length: end }, (_, index) => BigInt(index));

describe('gaps', () => {
  const gap = { reason: 'expired', from: 10n, to: 50n, fromTimeMs: 1, toTimeMs: undefined } as const;

  test('a gap that is reported several times is recorded once, and later messages land behind it', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    expect(await shard.land(batchOf(50, 10))).toMatchObject({ kind: 'out-of-step', expectedOffset: 10n });
    expect(await shard.land(batchOf(50, 0, { gap }))).toMatchObject({ kind: 'landed', nextOffset: 50n });
    expect(await shard.land(batchOf(50, 0, { gap }))).toMatchObject({ kind: 'landed', nextOffset: 50n });
    expect(await shard.land(batchOf(50, 10))).toMatchObject({ kind: 'landed', messages: 10 });
    expect(await rowsOf(shard, 'SELECT * FROM gap')).toEqual([
      {
        gap_id: 1n,
        origin: 'stream',
        reason: 'expired',
        from_offset: 10n,
        to_offset: 50n,
        from_time_ms: 1n,
        to_time_ms: null,
        detected_at_ms: BigInt(NOW_MS),
        closed_at_ms: null,
        closed_by: null,
        note: null,
      },
    ]);
  });

  test('a gap that arrives with a batch is recorded with it, and a repetition changes nothing', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    await shard.land(batchOf(50, 10, { gap }));
    await shard.land(batchOf(50, 10, { gap }));
    expect(await landedOffsets(shard)).toEqual([...upTo(10), ...upTo(60).slice(50)]);
    expect(await rowsOf(shard, 'SELECT gap_id FROM gap')).toEqual([{ gap_id: 1n }]);
  });

  test('a recreated log starts anew, and the positions of both never mix', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 30));
    const recreated = { reason: 'recreated', from: 30n, to: 5n, fromTimeMs: 2, toTimeMs: 3 } as const;
    expect(await shard.land(batchOf(30, 10, { logEpoch: 'log-2' }))).toEqual({
      kind: 'recreated',
      logEpoch: 'log-1',
    });
    const restart = batchOf(5, 10, { logEpoch: 'log-2', gap: recreated });
    expect(await shard.land(restart)).toMatchObject({ kind: 'landed', messages: 10 });
    expect(await shard.checkpoint('stream')).toMatchObject({
      logEpoch: 'log-2',
      nextOffset: 15n,
      lastOffset: 14n,
    });
    expect(await shard.land(batchOf(15, 5, { logEpoch: 'log-1' }))).toEqual({
      kind: 'recreated',
      logEpoch: 'log-2',
    });
    const ledger = await rowsOf(shard, 'SELECT log_epoch, from_offset FROM batch ORDER BY batch_id');
    expect(ledger).toEqual([
      { log_epoch: 'log-1', from_offset: 0n },
      { log_epoch: 'log-2', from_offset: 5n },
    ]);
    expect(await rowsOf(shard, 'SELECT reason, from_offset FROM gap')).toEqual([
      { reason: 'recreated', from_offset: 30n },
    ]);
  });
});

test('a gap is another one if its origin, its reason, one of its offsets or its beginning is another', async () => {
  const shard = await openTestShard();
  const gap = { origin: 'stream', reason: 'expired', from_offset: null, to_offset: null, from_time_ms: null };
  const others = [
    { origin: 'backfill:1:0' },
    { reason: 'rejected' },
    { from_offset: 1n },
    { to_offset: 1n },
    { from_time_ms: 1n },
  ];
  const gaps = [
    gap,
    ...others.map((other) => ({ ...gap, ...other })),
    { ...gap, from_offset: 2n, to_offset: 3n, from_time_ms: 4n },
  ];
  const [count] = await shard.transaction(async (connection) => {
    for (const one of [...gaps, ...gaps])
      await query(connection, 'land/store_gap', { ...one, to_time_ms: null, detected_at_ms: 5n });
    return queryText(connection, 'SELECT count(*)::INTEGER AS gaps, max(gap_id)::INTEGER AS last FROM gap');
  });
  expect(count).toEqual({ gaps: gaps.length, last: gaps.length });
});

test('the id of a batch is not used again, even if only a checkpoint or a stage remembers it', async () => {
  const shard = await openTestShard();
  const lastBatch = (sql: string) =>
    shard.transaction(async (connection) => {
      await connection.run(sql);
      return (await query(connection, 'land/find_last_batch'))[0]!.batch_id;
    });
  expect(await lastBatch('SELECT 1')).toBe(0n);
  await shard.land(batchOf(0, 1));
  expect(await lastBatch('DELETE FROM batch')).toBe(1n);
  expect(await lastBatch("INSERT INTO progress VALUES ('publish', 7, 0)")).toBe(7n);
  expect(await lastBatch('DELETE FROM checkpoint')).toBe(7n);
});

test('messages that a log kept into its new epoch land once, and different messages at the same offsets land too', {
  tags: ['slow'],
}, async () => {
  const path = join(tempDir(), 'acme.duckdb');
  const shard = await openTestShard({ path });
  await shard.land(batchOf(0, 30));
  const recreated = { reason: 'recreated', from: 30n, to: 0n, fromTimeMs: 2, toTimeMs: 3 } as const;
  const messages = messagesFrom(0, 30).map((message) =>
    message.offset === 7n ? { ...message, storeTimeMs: BigInt(NOW_MS) + 60_000n } : message,
  );
  const newLog = { logEpoch: 'log-2', nextOffset: 10n, fromOffset: undefined };
  await shard.land(batchOf(0, 10, { ...newLog, columns: columnsOf(messages.slice(0, 10)), gap: recreated }));
  await shard.close();
  const again = await openTestShard({ path });
  await again.land(batchOf(10, 30, { logEpoch: 'log-2' }));
  expect((await landedOffsets(again)).toSorted((a, b) => Number(a - b))).toEqual(
    [...upTo(40), 7n].toSorted((a, b) => Number(a - b)),
  );
  expect(await rowsOf(again, 'SELECT message_count FROM batch ORDER BY batch_id')).toEqual([
    { message_count: 30n },
    { message_count: 1n },
    { message_count: 10n },
  ]);
});

test('a reader sees a batch and its checkpoint together or not at all', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  const connection = await shard.connect();
  let isLanding = true;
  const landing = (async () => {
    for (let index = 0; index < 40; index++) await shard.land(batchOf(index * 100, 100));
    isLanding = false;
  })();
  const seen = new Set<bigint>();
  while (isLanding) {
    const reader = await connection.runAndReadAll(
      `SELECT (SELECT count(*) FROM message) AS n, (SELECT max(next_offset)::BIGINT FROM checkpoint) AS next,
         (SELECT sum(message_count)::BIGINT FROM batch) AS ledger`,
    );
    const [row] = reader.getRowObjects();
    expect(row!.next ?? 0n).toBe(row!.n);
    expect(row!.ledger ?? 0n).toBe(row!.n);
    seen.add(row!.n as bigint);
  }
  await landing;
  connection.closeSync();
  expect(seen.size).toBeGreaterThan(1);
});
