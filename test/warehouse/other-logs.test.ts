import { expect, test } from 'vitest';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { batchOf, columnsOf, NOW_MS, type PlainMessage } from './batches.ts';
import { openTestShard, rowsOf } from './warehouse-fixture.ts';

const recreated = {
  reason: 'recreated',
  from: undefined,
  to: undefined,
  fromTimeMs: 1,
  toTimeMs: 2,
} as const;

/** Messages as a batch of a log and an origin. */
function batchOfLog(logEpoch: string | undefined, messages: readonly PlainMessage[], origin = 'stream') {
  const gap = logEpoch === 'log-2' ? recreated : undefined;
  return batchOf(0, 0, {
    origin,
    columns: columnsOf(messages),
    fromOffset: undefined,
    nextOffset: 100n,
    logEpoch,
    gap,
  });
}

const full: PlainMessage = {
  offset: 5n,
  table: 1,
  source: 2,
  kind: 0,
  device: deviceId(1),
  eventTimeMs: BigInt(NOW_MS),
  storeTimeMs: BigInt(NOW_MS),
  messageId: 9n,
  fields: [[3, 1.5]],
  other: '{"state":"run"}',
};
/** Of an audit message: it has no device, no source, no counter, and no field. */
const bare: PlainMessage = { offset: 6n, kind: 2, storeTimeMs: BigInt(NOW_MS) };

const at = (offset: bigint, more: Partial<PlainMessage> = {}): PlainMessage => ({ ...full, offset, ...more });

/** The newest message of all earlier logs. */
const newest = at(20n, { storeTimeMs: BigInt(NOW_MS) + 1n });
/** It comes again in a later batch. */
const last = at(90n, { storeTimeMs: newest.storeTimeMs! });
/** Each differs in one member from the message that the earlier log has at its offset. */
const variants: PlainMessage[] = [
  { table: 2 },
  { source: 3 },
  { source: -1 },
  { kind: 1 },
  { device: deviceId(2) },
  { eventTimeMs: BigInt(NOW_MS) + 1n },
  { storeTimeMs: BigInt(NOW_MS) - 1n },
  { messageId: 8n },
  { fields: [[4, 1.5]] as const },
  { fields: [[3, 2.5]] as const },
  { other: '{"state":"off"}' },
].map((more, index) => at(BigInt(30 + index), more));

/** The offsets that land from the new log, and the number of messages in the row of their batch. */
const landed = shared(async () => {
  const shard = await openTestShard();
  const before: Array<[log: string | undefined, origin: string, messages: PlainMessage[]]> = [
    ['log-1', 'stream', [full, bare, ...variants.map(({ offset }) => at(offset))]],
    [undefined, 'backfill:1:0', [newest, last]],
    ['log-1', 'backfill:1:1', [at(21n)]],
    ['log-2', 'backfill:1:2', [at(22n)]],
    ['log-1', 'import:a.csv', [at(23n)]],
  ];
  for (const [log, origin, messages] of before) await shard.land(batchOfLog(log, messages, origin));
  const again = [full, bare, newest, at(21n), at(22n), at(23n), at(24n), ...variants];
  await shard.land(batchOfLog('log-2', again));
  await shard.land({
    ...batchOfLog('log-2', [last, at(91n, { storeTimeMs: last.storeTimeMs! })]),
    gap: undefined,
    nextOffset: 200n,
  });
  const ofBatches = "batch WHERE origin = 'stream' AND log_epoch = 'log-2'";
  const rows = await rowsOf(
    shard,
    `SELECT stream_offset::INTEGER AS landed FROM message WHERE batch_id IN (SELECT batch_id FROM ${ofBatches}) ORDER BY landed`,
  );
  const [noted] = await rowsOf(shard, `SELECT sum(message_count)::INTEGER AS messages FROM ${ofBatches}`);
  return { offsets: rows.map((row) => Number(row.landed)), noted: noted!.messages };
});

test('a message that an earlier log had lands once, even if the log had no name, or a backfill read it', () => {
  for (const offset of [5, 6, 20, 21, 90]) expect(landed().offsets).not.toContain(offset);
});

test('a message of the same log or of an import, or at a new offset, is another one', () => {
  expect(landed().offsets).toEqual(expect.arrayContaining([22, 23, 24, 91]));
});

test('a message that differs in any member is another one', () => {
  expect(landed().offsets.filter((offset) => offset >= 30 && offset < 90)).toEqual(
    variants.map((_, index) => 30 + index),
  );
});

test('the row of the batch counts the messages that are left', () => {
  expect(landed().noted).toBe(landed().offsets.length);
});
