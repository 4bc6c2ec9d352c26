import { describe, expect, test } from 'vitest';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import { batchOf, columnsOf, messagesFrom } from './batches.ts';
import { landedOffsets, openTestShard, rowsOf } from './warehouse-fixture.ts';

const upTo = (end: number) => Array.from({ length: end }, (_, index) => BigInt(index));

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

  test('nothing of the batch lands, the checkpoint stays, and its rows do not show up later', {
    tags: ['slow'],
  }, async () => {
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

  test('names of the failed batch are stored with the next batch that uses them', async () => {
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
    await expect(shard.land(using(0, 20))).rejects.toMatchObject({ code: 'WarehouseFailure' });
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
  await expect(shard.land(batchOf(50, 0, { gap }))).rejects.toThrow(StaleOwnerError);
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
