import type { DuckDBConnection } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import type { UnlistedBatch } from '../../src/warehouse/plan-landing.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { batchOf } from './batches.ts';
import { openTestShard, rowsOf } from './warehouse-fixture.ts';

describe('an unlisted batch', () => {
  const unlisted = (
    first: number,
    count: number,
    batchId: number,
    note: UnlistedBatch['note'] = async () => {},
  ) => batchOf(first, count, { origin: 'import:1', logEpoch: undefined, unlisted: { batchId, note } });
  const published = (shard: Shard) =>
    shard.listBatches(async (connection) => {
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

  test('that was not published leaves the ids of the ledger alone after a restart', {
    tags: ['slow'],
  }, async () => {
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

  test('does not land if its note fails', async () => {
    const shard = await openTestShard();
    const failing = unlisted(0, 5, 1_001, () => Promise.reject(new Error('no note')));
    await expect(shard.land(failing)).rejects.toThrow('no note');
    expect(await rowsOf(shard, 'SELECT * FROM message')).toEqual([]);
    expect(await shard.checkpoint('import:1')).toBeUndefined();
  });

  test('is added to the ledger between two batches, also while others arrive; a failure leaves no trace', async () => {
    const shard = await openTestShard();
    await shard.land(unlisted(0, 5, 1_001));
    await shard.land(unlisted(5, 5, 1_002));
    const before = shard.land(() => batchOf(0, 10));
    const failing = shard.listBatches(() => Promise.reject(new Error('not now')));
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

  test('with a lower id than others does not make ids appear again', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    await shard.land(batchOf(10, 10));
    await shard.listBatches(async () => 1);
    expect(await shard.land(batchOf(20, 10))).toMatchObject({ batchId: 3 });
  });

  test('refuses batches that are pushed out of turn while it is added to the ledger', async () => {
    const shard = await openTestShard();
    await shard.land(batchOf(0, 10));
    let pushed: unknown;
    await shard.listBatches(async () => {
      pushed = await shard.land(batchOf(10, 10));
      return 1_002;
    });
    expect(pushed).toEqual({ kind: 'out-of-step', expectedOffset: 10n });
    expect(await shard.land(batchOf(10, 10))).toMatchObject({ batchId: 1_003 });
  });
});
