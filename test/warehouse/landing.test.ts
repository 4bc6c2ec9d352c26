import type { DuckDBDataChunk } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { createNameTable } from '../../src/decode/name-table.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createLanding } from '../../src/warehouse/landing.ts';
import { batchOf, columnsOf, messagesFrom, NOW_MS } from './batches.ts';
import { openFile } from './committer-fixture.ts';
import { landedOffsets, openTestShard, rowsOf } from './warehouse-fixture.ts';

const upTo = (end: number) => Array.from({ length: end }, (_, index) => BigInt(index));

test('a batch lands with its ledger row, its names and the checkpoint', async () => {
  const shard = await openTestShard();
  const power = shard.names.idOf('power_w');
  const solar = shard.names.idOf('solar');
  const result = await shard.land(
    batchOf(10, 0, {
      columns: columnsOf([
        { offset: 10n, table: solar, fields: [[power, 5]], storeTimeMs: 1_000n },
        { offset: 11n, table: solar, fields: [[power, 6]], storeTimeMs: 1_007n },
      ]),
      nextOffset: 12n,
    }),
  );
  expect(result).toEqual({
    kind: 'landed',
    batchId: 1,
    nextOffset: 12n,
    messages: 2,
    quarantined: 0,
    landedBefore: 0,
    repeated: 0,
    beyond: 0,
    outOfOrder: 0,
    lastStoreTimeMs: 1_007,
  });
  expect(await rowsOf(shard, 'SELECT * FROM batch')).toEqual([
    {
      batch_id: 1n,
      origin: 'stream',
      log_epoch: 'log-1',
      from_offset: 10n,
      next_offset: 12n,
      message_count: 2n,
      quarantined_count: 0n,
      first_store_time_ms: 1_000n,
      last_store_time_ms: 1_007n,
      landed_at_ms: BigInt(NOW_MS),
    },
  ]);
  expect(await shard.checkpoint('stream')).toEqual({
    origin: 'stream',
    logEpoch: 'log-1',
    nextOffset: 12n,
    lastOffset: 11n,
    lastStoreTimeMs: 1_007,
    batchId: 1,
    updatedAtMs: NOW_MS,
  });
  const named = await rowsOf(
    shard,
    `SELECT table_name.name AS "table", field.name AS field, numbers[1] AS value
     FROM message JOIN name table_name ON table_name.name_id = table_id
     JOIN name field ON field.name_id = field_ids[1] ORDER BY stream_offset`,
  );
  expect(named).toEqual([
    { table: 'solar', field: 'power_w', value: 5 },
    { table: 'solar', field: 'power_w', value: 6 },
  ]);
});

test('messages that cannot be decoded are kept with bytes and reason', async () => {
  const shard = await openTestShard();
  const decoderBuffer = Uint8Array.of(9, 9, 1, 0, 255, 9);
  const rejected = [
    { offset: 3n, reason: 'malformed', detail: 'no device', bytes: decoderBuffer.subarray(2, 5) },
    { offset: undefined, reason: 'not_a_map', detail: 'it is 5', bytes: new Uint8Array(0) },
  ];
  const landing = shard.land(
    batchOf(0, 3, { columns: columnsOf(messagesFrom(0, 3), rejected), nextOffset: 4n }),
  );
  // The decoder continues to use its buffer while the batch is being committed.
  decoderBuffer.fill(7);
  expect(await landing).toMatchObject({ messages: 3, quarantined: 2 });
  expect(
    await rowsOf(
      shard,
      'SELECT batch_id, stream_offset, stage, reason, detail, hex(bytes) AS bytes, quarantined_at_ms FROM quarantine',
    ),
  ).toEqual([
    {
      batch_id: 1n,
      stream_offset: 3n,
      stage: 'land',
      reason: 'malformed',
      detail: 'no device',
      bytes: '0100FF',
      quarantined_at_ms: BigInt(NOW_MS),
    },
    {
      batch_id: 1n,
      stream_offset: null,
      stage: 'land',
      reason: 'not_a_map',
      detail: 'it is 5',
      bytes: '',
      quarantined_at_ms: BigInt(NOW_MS),
    },
  ]);
});

test('landing the same batch again changes nothing, not even after a restart', async () => {
  const shard = await openTestShard();
  await shard.land(batchOf(0, 100));
  expect(await shard.land(batchOf(0, 100))).toEqual({ kind: 'already-landed', nextOffset: 100n });
  await shard.close();
  const again = await openTestShard({ path: shard.path });
  expect(await again.land(batchOf(0, 100))).toEqual({ kind: 'already-landed', nextOffset: 100n });
  expect(await again.land(batchOf(50, 100))).toMatchObject({
    kind: 'landed',
    messages: 50,
    landedBefore: 50,
    batchId: 2,
  });
  expect(await landedOffsets(again)).toEqual(upTo(150));
});

test('batches that are pushed without a pause land in order, several in one transaction', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) => shard.land(() => batchOf(index * 50, 50))),
  );
  expect(results.map((result) => (result.kind === 'landed' ? result.batchId : result.kind))).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  expect(await landedOffsets(shard)).toEqual(upTo(1_000));
});

test('a decoder may use its columns again as soon as it has been called the next time', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const columns = columnsOf(messagesFrom(0, 3_000));
  let decoded = 0;
  const decodeNext = () => {
    const first = decoded++ * 3_000;
    const next = columnsOf(messagesFrom(first, 3_000));
    columns.offset.set(next.offset.subarray(0, 6_000));
    columns.number.set(next.number.subarray(0, 3_000));
    return batchOf(first, 3_000, { columns });
  };
  await Promise.all(Array.from({ length: 6 }, () => shard.land(decodeNext)));
  expect(await landedOffsets(shard)).toEqual(upTo(18_000));
  const [row] = await rowsOf(
    shard,
    'SELECT count(*) AS n FROM message WHERE numbers = [stream_offset::DOUBLE]',
  );
  expect(row).toEqual({ n: 18_000n });
});

test('the number of batches that are decoded before a commit is limited', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  let decoded = 0;
  let settled = 0;
  let mostAhead = 0;
  await Promise.all(
    Array.from({ length: 30 }, async () => {
      await shard.land(() => {
        decoded++;
        mostAhead = Math.max(mostAhead, decoded - settled);
        return batchOf((decoded - 1) * 10, 10);
      });
      settled++;
    }),
  );
  // Two wait while two are being committed.
  expect(mostAhead).toBeLessThanOrEqual(4);
  expect(await landedOffsets(shard)).toEqual(upTo(300));
});

test('a batch is filled into the chunk of a batch before it, also after one that was refused', {
  tags: ['slow'],
}, async () => {
  const file = await openFile();
  const chunks = new Set<DuckDBDataChunk>();
  let isOtherFile = false;
  const landing = createLanding({
    names: createNameTable(),
    checkpoints: new Map(),
    lastBatchId: 0,
    clock: { now: () => NOW_MS },
    logger: silentLogger,
    failure: (error) => error as Error,
    async openCommitter() {
      const committer = await file.openCommitter();
      return {
        ...committer,
        commit(writes, ...rest) {
          for (const { chunks: filled } of writes) for (const chunk of filled) chunks.add(chunk);
          if (isOtherFile) return Promise.resolve({ kind: 'out-of-step', checkpoint: undefined });
          return committer.commit(writes, ...rest);
        },
      };
    },
  });
  const kinds: string[] = [];
  for (let batch = 0; batch < 5; batch++) {
    isOtherFile = batch === 4;
    kinds.push((await landing.push(batchOf(batch * 10, 10))).kind);
  }
  isOtherFile = false;
  kinds.push((await landing.push(batchOf(0, 10))).kind);
  await landing.drain();
  expect(kinds).toEqual(['landed', 'landed', 'landed', 'landed', 'out-of-step', 'out-of-step']);
  expect(chunks.size).toBe(1);
});

test('a decoder that fails takes no other batch with it', async () => {
  const shard = await openTestShard();
  const results = await Promise.allSettled([
    shard.land(() => batchOf(0, 10)),
    shard.land(() => {
      throw new Error('cut off');
    }),
    shard.land(() => batchOf(10, 10)),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await landedOffsets(shard)).toEqual(upTo(20));
});

test('each origin has its own checkpoint', async () => {
  const shard = await openTestShard();
  await Promise.all([
    shard.land(batchOf(0, 10)),
    shard.land(batchOf(0, 20, { origin: 'import-2025' })),
    shard.land(batchOf(10, 10)),
  ]);
  expect((await shard.checkpoint('stream'))?.nextOffset).toBe(20n);
  expect((await shard.checkpoint('import-2025'))?.nextOffset).toBe(20n);
  expect(await shard.checkpoint('other')).toBeUndefined();
  const ids = await rowsOf(shard, 'SELECT batch_id, origin FROM batch ORDER BY batch_id');
  expect(ids.map(({ origin }) => origin)).toEqual(['stream', 'import-2025', 'stream']);
});
