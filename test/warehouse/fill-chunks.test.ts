import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHUNK_ROWS, createChunkFiller } from '../../src/warehouse/fill-chunks.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { batchOf, columnsOf, messagesFrom, type PlainMessage } from './batches.ts';
import { landedOffsets, openTestShard, rowsOf } from './warehouse-fixture.ts';

const OFFSET_MAX = 2n ** 64n - 1n;

async function land(shard: Shard, messages: PlainMessage[], nextOffset = OFFSET_MAX): Promise<void> {
  const result = await shard.land({
    origin: 'stream',
    columns: columnsOf(messages),
    fromOffset: undefined,
    nextOffset,
    logEpoch: undefined,
  });
  expect(result).toMatchObject({ kind: 'landed', messages: messages.length });
}

test('every column arrives as it was, at the ends of its range and absent', async () => {
  const shard = await openTestShard();
  await land(shard, [
    {
      offset: 0n,
      table: 0,
      kind: 2,
      eventTimeMs: -(2n ** 63n),
      storeTimeMs: -1n,
    },
    {
      offset: 2n ** 32n - 1n,
      table: 7,
      source: 0,
      kind: 1,
      device: '00000000-0000-0000-0000-000000000000',
      eventTimeMs: 0n,
      storeTimeMs: 2n ** 32n,
      messageId: 0n,
      fields: [[5, 0]],
      other: '{}',
    },
    {
      offset: OFFSET_MAX,
      table: 2 ** 31 - 1,
      source: 2 ** 31 - 1,
      kind: 255,
      device: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
      eventTimeMs: 2n ** 63n - 1n,
      storeTimeMs: 1_780_000_000_000n,
      messageId: 2n ** 63n - 1n,
      fields: [
        [2 ** 31 - 1, -0.1],
        [1, Number.MAX_VALUE],
      ],
      other: '{"state":"ü \\u0000 😀"}',
    },
  ]);
  const rows = await rowsOf(
    shard,
    `SELECT stream_offset::VARCHAR AS o, table_id AS t, kind AS k, device::VARCHAR AS d, source_id AS s,
       event_time_ms AS e, store_time_ms AS st, message_id AS m, field_ids::VARCHAR AS f, numbers::VARCHAR AS n, other
     FROM message ORDER BY stream_offset`,
  );
  expect(rows).toEqual([
    {
      o: '0',
      t: 0,
      k: 2,
      d: null,
      s: null,
      e: -(2n ** 63n),
      st: -1n,
      m: null,
      f: '[]',
      n: '[]',
      other: null,
    },
    {
      o: '4294967295',
      t: 7,
      k: 1,
      d: '00000000-0000-0000-0000-000000000000',
      s: 0,
      e: 0n,
      st: 4294967296n,
      m: 0n,
      f: '[5]',
      n: '[0.0]',
      other: '{}',
    },
    {
      o: '18446744073709551615',
      t: 2147483647,
      k: 255,
      d: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
      s: 2147483647,
      e: 9223372036854775807n,
      st: 1780000000000n,
      m: 9223372036854775807n,
      f: '[2147483647, 1]',
      n: '[-0.1, 1.7976931348623157e+308]',
      other: '{"state":"ü \\u0000 😀"}',
    },
  ]);
});

test('a UUID of any bits is read back as the same text', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  let next = 0n;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 16, maxLength: 16 }), { minLength: 1 }),
      async (ids) => {
        const texts = ids.map((bytes) =>
          Buffer.from(bytes)
            .toString('hex')
            .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
        );
        const first = next;
        next += BigInt(texts.length);
        await land(
          shard,
          texts.map((device, index) => ({ offset: first + BigInt(index), device })),
          next,
        );
        const rows = await rowsOf(
          shard,
          `SELECT device::VARCHAR AS device FROM message WHERE stream_offset >= ${first} ORDER BY stream_offset`,
        );
        expect(rows.map(({ device }) => device)).toEqual(texts);
      },
    ),
    { numRuns: 30 },
  );
});

test('integers of 64 bits and doubles are read back bit for bit', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  let next = 0n;
  const message = fc.record({
    eventTimeMs: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    messageId: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { nil: undefined }),
    source: fc.option(fc.nat(2 ** 31 - 1), { nil: undefined }),
    fields: fc.array(fc.tuple(fc.nat(2 ** 31 - 1), fc.double({ noNaN: true })), { maxLength: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 80 }), async (drawn) => {
      const first = next;
      next += BigInt(drawn.length);
      const messages = drawn.map(
        ({ messageId, source, ...rest }, index): PlainMessage => ({
          offset: first + BigInt(index),
          ...rest,
          ...(messageId !== undefined && { messageId }),
          ...(source !== undefined && { source }),
        }),
      );
      await land(shard, messages, next);
      const connection = await shard.connect();
      const reader = await connection.runAndReadAll(
        `SELECT event_time_ms AS e, message_id AS m, source_id AS s, field_ids AS f, numbers AS n
         FROM message WHERE stream_offset >= ${first} ORDER BY stream_offset`,
      );
      connection.closeSync();
      expect(reader.getRowObjectsJS()).toEqual(
        drawn.map(({ eventTimeMs, messageId, source, fields }) => ({
          e: eventTimeMs,
          m: messageId ?? null,
          s: source ?? null,
          f: fields.map(([id]) => id),
          n: fields.map(([, value]) => value),
        })),
      );
    }),
    { numRuns: 30 },
  );
});

describe.each([1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 10_000, 100_000])(
  'a batch of %i messages',
  (count) => {
    test('lands whole and in order, each row with its own lists', { tags: ['slow'] }, async () => {
      const shard = await openTestShard();
      await shard.land(batchOf(0, count));
      // Reused chunks must not show their earlier content.
      await shard.land(batchOf(count, count));
      const [row] = await rowsOf(
        shard,
        `SELECT count(*) AS n, count(DISTINCT stream_offset) AS distinct_n, min(stream_offset) AS first,
           max(stream_offset) AS last, count(*) FILTER (numbers = [stream_offset::DOUBLE] AND field_ids = [1]) AS right_n
         FROM message`,
      );
      const all = BigInt(2 * count);
      expect(row).toEqual({ n: all, distinct_n: all, first: 0n, last: all - 1n, right_n: all });
      const sample = (await landedOffsets(shard)).slice(0, 5_000);
      expect(sample).toEqual(sample.map((_, index) => BigInt(index)));
    });
  },
);

test('lists of no, one and a thousand fields can be in one chunk', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  const lengths = [0, 1, 1000, 0, 1000, 1, 0];
  const messages = Array.from({ length: 3_000 }, (_, row): PlainMessage => {
    const length = lengths[row % lengths.length]!;
    return {
      offset: BigInt(row),
      fields: Array.from({ length }, (_, field) => [field, row * 1_000 + field] as const),
    };
  });
  await land(shard, messages);
  const [row] = await rowsOf(
    shard,
    `SELECT count(*) AS n FROM message
     WHERE numbers = list_transform(range(CASE (stream_offset % 7)::INTEGER
         WHEN 1 THEN 1 WHEN 5 THEN 1 WHEN 2 THEN 1000 WHEN 4 THEN 1000 ELSE 0 END),
         field -> (stream_offset * 1000 + field)::DOUBLE)
       AND len(field_ids) = len(numbers)`,
  );
  expect(row).toEqual({ n: 3_000n });
});

test('texts stay with their rows, and do not show again in a reused chunk', async () => {
  const shard = await openTestShard();
  const texts = messagesFrom(0, 3_000).map((message, index) => ({
    ...message,
    ...(index % 3 === 0 && { other: `{"note":"${'x'.repeat(index % 50)}${index}"}` }),
  }));
  await land(shard, texts, 3_000n);
  await land(shard, messagesFrom(3_000, 3_000), 6_000n);
  await land(
    shard,
    texts.map(({ offset, ...rest }) => ({ ...rest, offset: offset + 6_000n })),
    9_000n,
  );
  const rows = await rowsOf(shard, 'SELECT stream_offset AS o, other FROM message ORDER BY stream_offset');
  expect(rows.map(({ other }) => other)).toEqual([
    ...texts.map(({ other }) => other ?? null),
    ...Array(3_000).fill(null),
    ...texts.map(({ other }) => other ?? null),
  ]);
});

test('columns that are views into a larger buffer are read from their start', async () => {
  const shard = await openTestShard();
  const columns = columnsOf(messagesFrom(10, 20));
  const shifted = new Uint32Array(columns.offset.length + 6);
  shifted.set(columns.offset, 6);
  const number = new Float64Array(columns.number.length + 3);
  number.set(columns.number, 3);
  await shard.land({
    ...batchOf(10, 20),
    columns: { ...columns, offset: shifted.subarray(6), number: number.subarray(3) },
  });
  expect(await landedOffsets(shard)).toEqual(messagesFrom(10, 20).map(({ offset }) => offset));
  const [row] = await rowsOf(shard, 'SELECT count(*) AS n FROM message WHERE numbers[1] = stream_offset');
  expect(row).toEqual({ n: 20n });
});

describe('a copy beyond the end of its memory is refused', () => {
  const filler = createChunkFiller();

  test('rows beyond the batch', () => {
    expect(() => filler.fill(columnsOf(messagesFrom(0, 5)), 0, 6, 1)).toThrow(RangeError);
    expect(() => filler.fill(columnsOf(messagesFrom(0, 5)), 3, 2, 1)).toThrow(RangeError);
  });

  test('a column shorter than the batch', () => {
    const columns = columnsOf(messagesFrom(0, 5));
    expect(() => filler.fill({ ...columns, device: columns.device.subarray(0, 19) }, 0, 5, 1)).toThrow(
      /a column ends at 19, 20 were expected/,
    );
    expect(() => filler.fill({ ...columns, number: columns.number.subarray(0, 4) }, 0, 5, 1)).toThrow(
      RangeError,
    );
  });

  test('fields that run backwards', () => {
    const columns = columnsOf(messagesFrom(0, 5));
    columns.fieldStart[2] = 9;
    expect(() => filler.fill(columns, 0, 5, 1)).toThrow(/fieldStart/);
  });

  test('the filler still works afterwards', () => {
    const chunks = filler.fill(columnsOf(messagesFrom(0, 5)), 1, 4, 1);
    expect(chunks.map(({ rowCount }) => rowCount)).toEqual([3]);
    expect(chunks[0]!.getColumnValues(1)).toEqual([1n, 2n, 3n]);
  });
});

test('a chunk is lent to one batch at a time', () => {
  const filler = createChunkFiller();
  const first = filler.fill(columnsOf(messagesFrom(0, 10)), 0, 10, 1);
  const second = filler.fill(columnsOf(messagesFrom(100, 10)), 0, 10, 2);
  expect(first[0]!.getColumnValues(1)[0]).toBe(0n);
  filler.release(first);
  filler.release(first);
  const third = filler.fill(columnsOf(messagesFrom(200, 10)), 0, 10, 3);
  const fourth = filler.fill(columnsOf(messagesFrom(300, 10)), 0, 10, 4);
  const firsts = [second, third, fourth].map(([chunk]) => chunk!.getColumnValues(1)[0]);
  expect(firsts).toEqual([100n, 200n, 300n]);
});

test('a released chunk is lent again', () => {
  const filler = createChunkFiller();
  const fill = (first: number) => filler.fill(columnsOf(messagesFrom(first, 10)), 0, 10, 1)[0]!;
  const lent = [fill(0), fill(100)];
  filler.release(lent);
  const again = [fill(200), fill(300), fill(400)];
  expect(again.map((chunk) => lent.includes(chunk))).toEqual([true, true, false]);
});

test('texts do not pile up in chunks that are used again and again', () => {
  const filler = createChunkFiller();
  const text = `{"note":"${'x'.repeat(1_000)}"}`;
  const columns = columnsOf(messagesFrom(0, CHUNK_ROWS).map((message) => ({ ...message, other: text })));
  const fill = (times: number) => {
    for (let round = 0; round < times; round++) filler.release(filler.fill(columns, 0, CHUNK_ROWS, round));
  };
  fill(10);
  const before = process.memoryUsage.rss();
  fill(200);
  // 400 MB of text went through.
  expect(process.memoryUsage.rss() - before).toBeLessThan(100e6);
});
