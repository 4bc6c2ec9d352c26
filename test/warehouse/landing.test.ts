import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import type { UnlistedBatch } from '../../src/warehouse/plan-landing.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf, columnsOf, messagesFrom, NOW_MS } from './batches.ts';
import { landedOffsets, openTestShard, rowsOf } from './support.ts';

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
    delivered: 0,
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

test('what could not be decoded is kept with its bytes and its reason', async () => {
  const shard = await openTestShard();
  const decoderBuffer = Uint8Array.of(9, 9, 1, 0, 255, 9);
  const rejected = [
    { offset: 3n, reason: 'malformed', detail: 'no device', bytes: decoderBuffer.subarray(2, 5) },
    { offset: undefined, reason: 'not_a_map', detail: 'it is 5', bytes: new Uint8Array(0) },
  ];
  const landing = shard.land(
    batchOf(0, 3, { columns: columnsOf(messagesFrom(0, 3), rejected), nextOffset: 4n }),
  );
  // The decoder goes on using its buffer while the batch is being committed.
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
    delivered: 50,
    batchId: 2,
  });
  expect(await landedOffsets(again)).toEqual(upTo(150));
});

test('batches pushed one upon another land in order, several in one transaction', async () => {
  const shard = await openTestShard();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) => shard.land(() => batchOf(index * 50, 50))),
  );
  expect(results.map((result) => (result.kind === 'landed' ? result.batchId : result.kind))).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  expect(await landedOffsets(shard)).toEqual(upTo(1_000));
});

test('a decoder may use its columns again as soon as it has been called the next time', async () => {
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

test('only so many batches are decoded ahead of what has been committed', async () => {
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

test('origins have checkpoints of their own', async () => {
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

describe('when a write fails', () => {
  /** Makes every later batch that holds this offset fail at its flush, as a constraint would. */
  async function forbidTwice(shard: Awaited<ReturnType<typeof openTestShard>>): Promise<void> {
    const connection = await shard.connect();
    await connection.run('CREATE UNIQUE INDEX unique_offset ON message (stream_offset)');
    await connection.run(
      `INSERT INTO message SELECT 0, 15, 0, 0, NULL, NULL, 0, 0, NULL, []::INTEGER[], []::DOUBLE[], NULL`,
    );
    connection.closeSync();
  }

  test('nothing of the batch lands, the checkpoint stays, and its rows do not show up later', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    await forbidTwice(shard);
    await expect(shard.land(batchOf(10, 10))).rejects.toMatchObject({
      code: 'WarehouseFailure',
      retryable: true,
    });
    expect((await shard.checkpoint('stream'))?.nextOffset).toBe(10n);

    const connection = await shard.connect();
    await connection.run('DELETE FROM message WHERE stream_offset = 15');
    connection.closeSync();
    expect(await shard.land(batchOf(10, 3))).toMatchObject({ kind: 'landed', messages: 3 });
    expect(await landedOffsets(shard)).toEqual(upTo(13));
  });

  test('a batch behind it is refused, one before it in the same transaction lands', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 1));
    await forbidTwice(shard);
    const results = await Promise.allSettled([
      shard.land(batchOf(1, 9)),
      shard.land(batchOf(10, 10)),
      shard.land(batchOf(20, 10)),
    ]);
    expect(results[0]).toMatchObject({ value: { kind: 'landed' } });
    expect(results[1]).toMatchObject({ status: 'rejected' });
    expect(results[2]).toMatchObject({ value: { kind: 'out-of-step', expectedOffset: 10n } });
    const landed = (await landedOffsets(shard)).sort((left, right) => Number(left - right));
    expect(landed).toEqual([...upTo(10), 15n]);
  });

  test('names of the failed batch are stored with the next one that uses them', async () => {
    const shard = await openTestShard();
    const field = shard.names.idOf('power_w');
    const using = (first: number, count: number) => {
      const messages = messagesFrom(first, count).map(({ offset }) => ({
        offset,
        fields: [[field, 1]] as const,
      }));
      return batchOf(first, count, { columns: columnsOf(messages) });
    };
    await forbidTwice(shard);
    await expect(shard.land(using(0, 20))).rejects.toThrow();
    expect(await rowsOf(shard, 'SELECT * FROM name')).toEqual([]);
    await shard.land(using(0, 5));
    expect(await rowsOf(shard, 'SELECT name FROM name')).toEqual([{ name: 'power_w' }]);
  });
});

test('an owner that was overtaken writes nothing', async () => {
  const shard = await openTestShard();
  await shard.land(batchOf(0, 10));
  const connection = await shard.connect();
  await connection.run('UPDATE shard SET owner_epoch = owner_epoch + 1');
  connection.closeSync();
  await expect(shard.land(batchOf(10, 10))).rejects.toThrow(StaleOwnerError);
  const gap = { reason: 'expired', from: 10n, to: 50n, fromTimeMs: undefined, toTimeMs: undefined } as const;
  await expect(shard.recordGap('stream', gap)).rejects.toThrow(StaleOwnerError);
  await expect(shard.transaction((c) => c.run('DELETE FROM message'))).rejects.toThrow(StaleOwnerError);
  expect(await landedOffsets(shard)).toEqual(upTo(10));
  expect(await rowsOf(shard, 'SELECT * FROM gap')).toEqual([]);
});

test('a checkpoint that was moved behind our back is believed, not overwritten', async () => {
  const shard = await openTestShard();
  await shard.land(batchOf(0, 10));
  const connection = await shard.connect();
  await connection.run('UPDATE checkpoint SET next_offset = 30, last_offset = 29');
  connection.closeSync();
  expect(await shard.land(batchOf(10, 10))).toEqual({ kind: 'out-of-step', expectedOffset: 30n });
  expect(await shard.land(batchOf(30, 10))).toMatchObject({ kind: 'landed', messages: 10 });
});

describe('gaps', () => {
  const gap = { reason: 'expired', from: 10n, to: 50n, fromTimeMs: 1, toTimeMs: undefined } as const;

  test('a gap is recorded once however often it is reported, and what follows lands behind it', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    expect(await shard.land(batchOf(50, 10))).toMatchObject({ kind: 'out-of-step', expectedOffset: 10n });
    expect(await shard.recordGap('stream', gap)).toEqual({ kind: 'recorded', nextOffset: 50n });
    expect(await shard.recordGap('stream', gap)).toEqual({ kind: 'recorded', nextOffset: 50n });
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

  test('a gap that comes with a batch is recorded with it, and both again change nothing', async () => {
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

test('messages that a log still holds when it begins anew land once, those that look like them land too', async () => {
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

test('a reader sees a batch and its checkpoint together or not at all', async () => {
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

describe('an unlisted batch', () => {
  const unlisted = (
    first: number,
    count: number,
    batchId: number,
    note: UnlistedBatch['note'] = async () => {},
  ) => batchOf(first, count, { origin: 'import:1', logEpoch: undefined, unlisted: { batchId, note } });
  const published = (shard: Shard) =>
    shard.publishToLedger(async (connection) => {
      await connection.run(
        `INSERT INTO batch (batch_id, origin, message_count, quarantined_count, landed_at_ms)
         SELECT batch_id, 'import:1', count(*), 0, 0 FROM message WHERE batch_id > 1000 GROUP BY batch_id`,
      );
      return 1_002;
    });
  const ledger = (shard: Shard) =>
    rowsOf(
      shard,
      'SELECT batch_id::INTEGER AS id, message_count::INTEGER AS messages FROM batch ORDER BY id',
    );

  test('lands with its checkpoint and its note, and stays out of the ledger until it is published', async () => {
    const shard = await openTestShard();
    const notes: string[] = [];
    const note = async (connection: DuckDBConnection) => {
      const [row] = (
        await connection.runAndReadAll('SELECT count(*)::INTEGER AS n FROM checkpoint')
      ).getRows();
      notes.push(String(row));
    };
    await shard.land(batchOf(0, 10));
    await shard.land(unlisted(0, 5, 1_001, note));
    await shard.land(unlisted(5, 5, 1_002, note));
    expect(await shard.land(unlisted(5, 5, 1_003))).toMatchObject({ kind: 'already-landed' });
    await shard.land(batchOf(10, 10));
    expect(notes).toEqual(['1', '2']);
    expect(await ledger(shard)).toEqual([
      { id: 1, messages: 10 },
      { id: 2, messages: 10 },
    ]);
    expect(await shard.checkpoint('import:1')).toMatchObject({ nextOffset: 10n, batchId: 0 });

    await published(shard);
    await shard.land(batchOf(20, 10));
    expect(await ledger(shard)).toEqual([
      { id: 1, messages: 10 },
      { id: 2, messages: 10 },
      { id: 1_001, messages: 5 },
      { id: 1_002, messages: 5 },
      { id: 1_003, messages: 10 },
    ]);
  });

  test('that was not published leaves the ids of the ledger alone after a restart', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    await shard.land(unlisted(0, 5, 1_001));
    await shard.close();
    const again = await openTestShard({ path: shard.path });
    expect(await again.land(batchOf(10, 10))).toMatchObject({ batchId: 2 });
    expect(await again.land(unlisted(5, 5, 1_002))).toMatchObject({ kind: 'landed', messages: 5 });
    await published(again);
    await again.close();
    const last = await openTestShard({ path: shard.path });
    expect(await last.land(batchOf(20, 10))).toMatchObject({ batchId: 1_003 });
  });

  test('whose note fails does not land', async () => {
    const shard = await openTestShard();
    const failing = unlisted(0, 5, 1_001, () => Promise.reject(new Error('no note')));
    await expect(shard.land(failing)).rejects.toThrow('no note');
    expect(await rowsOf(shard, 'SELECT * FROM message')).toEqual([]);
    expect(await shard.checkpoint('import:1')).toBeUndefined();
  });

  test('is published between two batches, whatever comes meanwhile; one that cannot be leaves no trace', async () => {
    const shard = await openTestShard();
    await shard.land(unlisted(0, 5, 1_001));
    await shard.land(unlisted(5, 5, 1_002));
    const before = shard.land(() => batchOf(0, 10));
    const failing = shard.publishToLedger(() => Promise.reject(new Error('not now')));
    const between = shard.land(() => batchOf(10, 10));
    const admitting = published(shard);
    const after = shard.land(() => batchOf(20, 10));
    await expect(failing).rejects.toThrow('not now');
    await admitting;
    expect(await Promise.all([before, between, after])).toMatchObject([
      { batchId: 1 },
      { batchId: 2 },
      { batchId: 1_003 },
    ]);
  });

  test('being published refuses what is pushed without waiting for its turn', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    let pushed: unknown;
    await shard.publishToLedger(async () => {
      pushed = await shard.land(batchOf(10, 10));
      return 1_002;
    });
    expect(pushed).toEqual({ kind: 'out-of-step', expectedOffset: 10n });
    expect(await shard.land(batchOf(10, 10))).toMatchObject({ batchId: 1_003 });
  });
});
