import { expect, test } from 'vitest';
import { lakeFiles, withoutLanded, withoutQuarantined } from '../../src/backfill/skip-landed.ts';
import type { RejectedMessage } from '../../src/decode/message-columns.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { openFixture, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { atEnd, shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

type Told = [offset: number, eventMs?: number];

function columnsOf(told: readonly Told[], names = createNameTable()) {
  return messagesToColumns(
    told.map(([offset, eventMs = offset]) => ({
      offset,
      table: 'solar',
      device: deviceId(1),
      event_time: TEST_START_MS + eventMs,
      store_time: TEST_START_MS + offset,
      data: { power_w: offset },
    })),
    names,
  );
}

const rejected = (offset: bigint | undefined, bytes: string): RejectedMessage => ({
  offset,
  reason: 'malformed',
  detail: '',
  bytes: Buffer.from(bytes),
});

/** A warehouse whose first batch, with the offsets 10 and 11, is only in the lake. */
const landed = shared(async () => {
  const { shard, lakeDir, publish } = await openFixture(tempDir(), createTestClock());
  atEnd(() => shard.close());
  const land = async (origin: string, logEpoch: string, told: Told[], unread: RejectedMessage[] = []) => {
    const columns = columnsOf(told, shard.names);
    columns.rejected = unread;
    const nextOffset = BigInt(told.at(-1)![0] + 1);
    const fromOffset = (await shard.checkpoint(origin))?.nextOffset;
    await shard.land({ origin, columns, fromOffset, nextOffset, logEpoch });
  };
  await land('stream', 'one', [[10], [11]]);
  await land('stream', 'one', [[20], [22]], [rejected(21n, 'a'), rejected(undefined, 'b')]);
  await land('backfill:1:0', 'one', [[30]]);
  await land('import:a.csv', 'one', [[31]]);
  await land('backfill:1:1', 'two', [[32]]);
  await publish();
  await shard.transaction((connection) => connection.run('DELETE FROM message WHERE batch_id = 1'));
  return { shard, lakeDir };
});

/** The messages that have not landed from a log. */
async function missing(told: Told[], logEpoch?: string) {
  const { shard, lakeDir } = landed();
  const rows = told.map((_, row) => row);
  const left = await withoutLanded(shard, lakeDir, { columns: columnsOf(told), rows, logEpoch });
  return left.map((row) => told[row]);
}

test('a message that has landed from the stream or a backfill is known by its offset and its time', async () => {
  expect(await missing([[20], [21], [22], [30]], 'one')).toEqual([[21]]);
  expect(await missing([[22], [20]], 'one')).toEqual([]);
  expect(await missing([[20, 5], [22]], 'one')).toEqual([[20, 5]]);
});

test('a message of another log, or of an import, has not landed', async () => {
  expect(await missing([[20], [32]], 'two')).toEqual([[20]]);
  expect(await missing([[31], [32]], 'one')).toEqual([[31], [32]]);
  expect(await missing([[20]])).toEqual([[20]]);
});

test('a message that only the lake still has is known, too', async () => {
  expect(await missing([[10]], 'one')).toEqual([]);
  expect(await missing([[11]], 'one')).toEqual([]);
  expect(await missing([[9], [10, 5], [12]], 'one')).toEqual([[9], [10, 5], [12]]);
  expect(await missing([[10]], 'two')).toEqual([[10]]);
});

test('a message that could not be read is known by its offset, or by its bytes', async () => {
  const messages = [
    rejected(21n, 'x'),
    rejected(22n, 'a'),
    rejected(undefined, 'a'),
    rejected(undefined, 'b'),
  ];
  const { shard } = landed();
  expect(await withoutQuarantined(shard, messages)).toEqual([messages[1], messages[2]]);
});

test('the files of the lake are those of the hours that the messages touch', async () => {
  const { lakeDir } = landed();
  const files = async (firstMs: number, lastMs: number) =>
    (await lakeFiles(WORKGROUP, lakeDir, TEST_START_MS + firstMs, TEST_START_MS + lastMs)).length;
  expect([await files(-9, -1), await files(-9, 0), await files(5, 6)]).toEqual([0, 1, 1]);
  expect([await files(HOUR_MS - 1, HOUR_MS + 9), await files(HOUR_MS, HOUR_MS + 9)]).toEqual([1, 0]);
});
