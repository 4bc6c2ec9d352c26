import { appendFileSync, readFileSync, renameSync, utimesSync } from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import type { MappingInput } from '../../src/import/import-mapping.ts';
import { InputError } from '../../src/lib/errors.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { energyByDay, energyRows, rollUpSite } from '../rollup/rollup-fixture.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { isSoak, sampled } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, fileOf, importInto, messagesIn, parquetOf } from './import-fixture.ts';

const mapping: MappingInput = {
  time: { column: 'time' },
  device: { id: DEVICE },
  fields: { total: 'total' },
};
const site = {
  timezone: 'Etc/UTC',
  streams: [
    { table: 't', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
  ] as EnergyStreamInput[],
};
const START_MS = Date.UTC(2024, 5, 1);
const BATCH_ROWS = 2_048;

/** A register that grows by 1 Wh a minute. */
function lines(rows: number, first = 0): string[] {
  return Array.from({ length: rows }, (_, index) => {
    const minute = first + index;
    return `${new Date(START_MS + minute * 60_000).toISOString()},${1000 + minute}`;
  });
}
/** Lands a reading as the stream does, with an offset of our time. */
async function landFromStream(shard: Shard, index: number, time: string, total: number): Promise<void> {
  const offset = (BigInt(Date.UTC(2026, 0)) << 20n) + BigInt(index);
  const message = { offset, table: 't', kind: 'telemetry', device: DEVICE, source: null, data: { total } };
  const times = { event_time: Date.parse(time), store_time: Date.UTC(2026, 0) };
  const landed = await shard.land(() => ({
    origin: 'stream',
    columns: messagesToColumns([{ ...message, ...times }], shard.names),
    fromOffset: offset,
    nextOffset: offset + 1n,
    logEpoch: 'log-1',
  }));
  expect(landed).toMatchObject({ kind: 'landed', messages: 1 });
}

const fileOfRows = (rows: number, first = 0) =>
  fileOf('log.csv', `time,total\n${lines(rows, first).join('\n')}\n`);
const count = async (shard: Shard, table: string) =>
  Number((await rowsOf(shard, `SELECT count(*) AS n FROM ${table}`))[0]!.n);
const entries = (shard: Shard) =>
  rowsOf(
    shard,
    'SELECT state, rows_read::INTEGER AS read, rows_landed::INTEGER AS landed FROM import_file ORDER BY import_id',
  );

test('a file lands as messages with its table, device and values, and its batches are in the ledger', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const outcome = await importInto(shard, fileOfRows(5_000), mapping, { batchRows: BATCH_ROWS });
  expect(outcome).toMatchObject({
    kind: 'landed',
    counts: { rowsRead: 5_000, rowsLanded: 5_000, rowsRejected: 0 },
    resumed: false,
  });
  const messages = await messagesIn(shard);
  expect(messages).toHaveLength(5_000);
  expect(messages[4_999]).toEqual({
    time_ms: START_MS + 4_999 * 60_000,
    device: DEVICE,
    source: null,
    table: 't',
    data: { total: 5_999 },
  });
  expect(
    await rowsOf(shard, 'SELECT origin, sum(message_count)::INTEGER AS messages FROM batch GROUP BY origin'),
  ).toEqual([{ origin: expect.stringMatching(/^import:[0-9a-f]{64}$/), messages: 5_000 }]);
  expect(await entries(shard)).toEqual([{ state: 'landed', read: 5_000, landed: 5_000 }]);
  expect(await rowsOf(shard, 'SELECT * FROM checkpoint')).toEqual([]);
});

describe('while a file lands', () => {
  test('no stage sees a part of it, while the stream lands and the roll-up runs', {
    tags: ['slow'],
  }, async () => {
    const shard = await openTestShard();
    const seen: Promise<unknown>[] = [];
    let streamed = 0;
    const look = async () => {
      await landFromStream(shard, streamed++, '2023-01-01T01:00:00Z', 5);
      await rollUpSite(shard, site);
      return count(shard, `reading WHERE event_time_ms >= ${START_MS}`);
    };
    const importing = importInto(shard, fileOfRows(12_000), mapping, {
      batchRows: BATCH_ROWS,
      onProgress: ({ rowsLanded }) =>
        void (
          rowsLanded > 0 &&
          rowsLanded < 10_000 &&
          seen.push((seen.at(-1) ?? Promise.resolve()).then(look))
        ),
    });
    await importing;
    const during = await Promise.all(seen);
    expect(during.length).toBeGreaterThan(3);
    await rollUpSite(shard, site);
    expect(await count(shard, `reading WHERE event_time_ms >= ${START_MS}`)).toBe(12_000);
    // Each look saw nothing of the file or, late, all of it.
    expect(during.filter((readings) => readings !== 0 && readings !== 12_000)).toEqual([]);
    expect(during).toContain(0);
  });

  test.runIf(isSoak)('what the stream lands after it is rolled up as well', async () => {
    const shard = await openTestShard();
    await landFromStream(shard, 0, '2024-06-01T00:00:00Z', 1_000);
    await importInto(shard, fileOfRows(1_440), mapping);
    await rollUpSite(shard, site);
    await landFromStream(shard, 1, '2024-06-02T00:00:00Z', 2_500);
    await rollUpSite(shard, site);
    expect(await energyByDay(shard)).toEqual({ '2024-06-01': 1_500 });
  });
});

describe('a file that was stopped', () => {
  /** Imports until the progress first shows `rows`, as a Ctrl-C there would. */
  async function stopAt(shard: Shard, path: string, rows: number): Promise<void> {
    const controller = new AbortController();
    const importing = importInto(shard, path, mapping, {
      batchRows: BATCH_ROWS,
      signal: controller.signal,
      onProgress: ({ rowsRead }) => void (rowsRead >= rows && controller.abort()),
    });
    await expect(importing).rejects.toThrow(/operation was aborted/);
  }

  test.each(sampled([0, 1, 2_048, 4_000], 2))(
    'after %i rows is gone on with: nothing twice, nothing missing',
    { tags: ['slow'] },
    async (rows) => {
      const shard = await openTestShard();
      const path = fileOfRows(5_000);
      await stopAt(shard, path, rows);
      expect(await messagesIn(shard)).toEqual([]);
      const stored = await count(shard, 'message');
      await shard.close();

      const again = await openTestShard({ path: shard.path });
      const outcome = await importInto(again, path, mapping, { batchRows: BATCH_ROWS });
      expect(outcome).toMatchObject({ kind: 'landed', resumed: stored > 0, counts: { rowsLanded: 5_000 } });
      const messages = await messagesIn(again);
      expect(messages.map(({ data }) => data.total)).toEqual(
        Array.from({ length: 5_000 }, (_, index) => 1_000 + index),
      );
      expect(await entries(again)).toEqual([{ state: 'landed', read: 5_000, landed: 5_000 }]);
    },
  );

  test('is given up when another file begins, and begins again at its first row', {
    tags: ['slow'],
  }, async () => {
    const shard = await openTestShard();
    const stopped = fileOfRows(6_000);
    await stopAt(shard, stopped, 3_000);
    expect(await count(shard, 'message')).toBeGreaterThan(0);
    expect((await shard.status()).imports).toMatchObject([{ path: stopped, state: 'landing' }]);
    await importInto(shard, fileOfRows(10, 20_000), mapping);
    expect(await count(shard, 'message')).toBe(10);
    expect((await entries(shard)).map(({ state }) => state)).toEqual(['dropped', 'landed']);
    expect(await rowsOf(shard, 'SELECT * FROM checkpoint'), 'no position is left').toEqual([]);
    expect((await shard.status()).imports).toMatchObject([{ path: stopped, state: 'dropped' }]);
    await importInto(shard, stopped, mapping);
    expect((await shard.status()).imports).toEqual([]);
    expect(await messagesIn(shard)).toHaveLength(6_010);
    await rollUpSite(shard, site);
    expect(await count(shard, 'reading')).toBe(6_010);
  });
});

test('an import that was given up is open until its content or its path has landed', async () => {
  const shard = await openTestShard();
  let importId = 0;
  const open = async (path: string, content: string, state: 'dropped' | 'landed') => {
    importId += 1;
    await shard.transaction((connection) =>
      connection.run(
        `INSERT INTO import_file
         VALUES ($importId, $path, 't', 1, $content, '', $state, 1, 1, 0, '{}', NULL, 0, 0)`,
        { importId, path, content, state },
      ),
    );
    return (await shard.status()).imports.map((one) => one.path);
  };
  expect(await open('/a', 'one', 'dropped')).toEqual(['/a']);
  expect(await open('/a', 'one', 'dropped')).toEqual(['/a']);
  // The same content, given up again under another name.
  expect(await open('/b', 'one', 'dropped')).toEqual(['/a', '/b']);
  expect(await open('/b', 'other', 'landed')).toEqual(['/a']);
  expect(await open('/c', 'one', 'landed')).toEqual([]);
});

describe('again', () => {
  test('the same file does nothing, also under another name', { tags: ['slow'] }, async () => {
    const shard = await openTestShard();
    const path = fileOfRows(3_000);
    await importInto(shard, path, mapping);
    const copy = fileOf('copy.csv', readFileSync(path));
    expect(await importInto(shard, copy, mapping)).toMatchObject({
      kind: 'landed-before',
      counts: { rowsLanded: 3_000 },
    });
    expect(await messagesIn(shard)).toHaveLength(3_000);
  });

  test.runIf(isSoak)('the same readings in another file change no energy and no version', async () => {
    const shard = await openTestShard();
    await importInto(shard, fileOfRows(3_000), mapping);
    await rollUpSite(shard, site);
    const before = await energyRows(shard);
    const versions = await rowsOf(shard, 'SELECT day, version FROM daily_energy ORDER BY day');
    const shuffled = fileOf('other.csv', `time,total\n${lines(3_000).toReversed().join('\n')}\n`);
    expect(await importInto(shard, shuffled, mapping)).toMatchObject({ kind: 'landed' });
    await rollUpSite(shard, site);
    expect(await energyRows(shard)).toEqual(before);
    expect(await rowsOf(shard, 'SELECT day, version FROM daily_energy ORDER BY day')).toEqual(versions);
  });

  test('a corrected file replaces readings of the file before, in any order of rows, and the stream replaces both', {
    tags: ['slow'],
  }, async () => {
    const shard = await openTestShard();
    await landFromStream(shard, 0, '2024-06-01T12:00:00Z', 600);
    const of = (first: number, noon: number, last: number) =>
      ['2024-06-01T00:00:00Z', '2024-06-01T12:00:00Z', '2024-06-02T00:00:00Z']
        .map((time, index) => `${time},${[first, noon, last][index]}`)
        .join('\n');
    await importInto(
      shard,
      fileOf('a.csv', `time,total\n2024-05-31T00:00:00Z,100\n${of(100, 550, 1_000)}\n`),
      mapping,
    );
    await importInto(shard, fileOf('b.csv', `time,total\n${of(200, 560, 1_100)}\n`), mapping);
    await rollUpSite(shard, site);
    const readings = await rowsOf(shard, 'SELECT value FROM reading ORDER BY event_time_ms');
    expect(readings.map(({ value }) => value)).toEqual([100, 200, 600, 1_100]);
  });
});

describe('a file that cannot be taken leaves nothing behind', () => {
  const nothing = async (shard: Shard) => {
    expect(await count(shard, 'message')).toBe(0);
    expect(await count(shard, 'batch')).toBe(0);
    expect(await count(shard, 'quarantine')).toBe(0);
    expect(await entries(shard)).toMatchObject([{ state: 'dropped' }]);
    expect((await shard.status()).imports).toMatchObject([{ state: 'dropped' }]);
  };

  test('because none of its rows can be used', { tags: ['slow'] }, async () => {
    const shard = await openTestShard();
    const path = fileOf('wrong.csv', `time,total\n${'yesterday,5\n'.repeat(3)}`);
    expect(await importInto(shard, path, mapping)).toMatchObject({
      kind: 'nothing-usable',
      counts: { rowsRead: 3, rowsLanded: 0, rejected: { bad_time: 3 } },
    });
    await nothing(shard);
  });

  /** The time of the file, as programs that unpack or copy files set it. */
  const setTime = (path: string) => utimesSync(path, 1_700_000_000, 1_700_000_000);
  const replace = (path: string) => {
    const other = fileOf('other.csv', readFileSync(path, 'utf8').replaceAll('2024', '2023'));
    setTime(other);
    renameSync(other, path);
  };
  test.each<[how: string, change: (path: string) => void, rows: number]>([
    ['it grows', (path) => appendFileSync(path, `${lines(1, 10_000)}\n`), 10_001],
    ['a file of the same time and size takes its place', replace, 10_000],
  ])('because %s while it is read', { tags: ['slow'] }, async (_how, change, rows) => {
    const shard = await openTestShard();
    const path = fileOfRows(10_000);
    setTime(path);
    let isChanged = false;
    const importing = importInto(shard, path, mapping, {
      batchRows: BATCH_ROWS,
      onProgress({ rowsRead }) {
        if (rowsRead > 0 && !isChanged) change(path);
        isChanged ||= rowsRead > 0;
      },
    });
    await expect(importing).rejects.toMatchObject({ code: 'FileChanged' });
    await nothing(shard);
    expect(await importInto(shard, path, mapping)).toMatchObject({
      kind: 'landed',
      counts: { rowsLanded: rows },
    });
    expect((await shard.status()).imports).toEqual([]);
  });

  test('because a part of it is damaged', { tags: ['slow'] }, async () => {
    const shard = await openTestShard();
    const whole = readFileSync(
      await parquetOf(
        `SELECT TIMESTAMPTZ '2024-06-01' + to_minutes(i::INTEGER) AS time, hash(i) / 2e15 AS total FROM range(40000) r(i)`,
        10_240,
      ),
    );
    // Beyond the first group of rows, so that some have landed before.
    const middle = Math.floor(whole.length * 0.6);
    whole.fill(0xff, middle, middle + 50_000);
    const path = fileOf('damaged.parquet', whole);
    let landed = 0;
    const importing = importInto(shard, path, mapping, {
      batchRows: BATCH_ROWS,
      onProgress({ rowsLanded }) {
        landed = rowsLanded;
      },
    });
    await expect(importing).rejects.toBeInstanceOf(InputError);
    expect(landed).toBeGreaterThan(0);
    await nothing(shard);
  });

  test('because it is packed and cut off', async () => {
    const shard = await openTestShard();
    const text = readFileSync(fileOfRows(5_000));
    for (const [name, packed] of [
      ['cut.csv.gz', gzipSync(text)],
      ['cut.csv.zst', zstdCompressSync(text)],
    ] as const) {
      const path = fileOf(name, packed.subarray(0, packed.length / 2));
      await expect(importInto(shard, path, mapping)).rejects.toThrow(/is damaged or cut off/);
    }
    expect(await count(shard, 'message')).toBe(0);
  });
});

test('rejected rows are in the quarantine, counted by reason, and once only if the import is continued', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const rows = lines(6_000).flatMap((line, index) =>
    index % 1_000 === 0 ? [line, 'broken', `never,${index}`] : [line],
  );
  const path = fileOf('bad.csv', `time,total\n${rows.join('\n')}\n`);
  const controller = new AbortController();
  const stopping = importInto(shard, path, mapping, {
    batchRows: BATCH_ROWS,
    signal: controller.signal,
    onProgress: ({ rowsRead }) => void (rowsRead >= 4_000 && controller.abort()),
  });
  await expect(stopping).rejects.toThrow(/operation was aborted/);
  const outcome = await importInto(shard, path, mapping, { batchRows: BATCH_ROWS });
  expect(outcome).toMatchObject({
    kind: 'landed',
    resumed: true,
    counts: { rowsLanded: 6_000, rowsRejected: 12, rejected: { bad_time: 6, malformed_row: 6 } },
  });
  expect(await importInto(shard, path, mapping)).toMatchObject({
    kind: 'landed-before',
    counts: { rejected: { bad_time: 6, malformed_row: 6 } },
  });
  const quarantined = await rowsOf(
    shard,
    `SELECT reason, count(*)::INTEGER AS n, min(detail) AS detail, min(decode(bytes)) AS content FROM quarantine GROUP BY reason ORDER BY reason`,
  );
  expect(quarantined).toEqual([
    { reason: 'bad_time', n: 6, detail: 'row 1003: its time is "never"', content: '["never",0]' },
    { reason: 'malformed_row', n: 6, detail: 'line 1005: missing columns', content: 'broken' },
  ]);
});

test('of a file with only broken rows, some thousands are kept and all are counted', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const path = fileOf('bad.csv', `time,total\n${lines(1)[0]}\n${'never,5\n'.repeat(12_000)}`);
  expect(await importInto(shard, path, mapping, { batchRows: BATCH_ROWS })).toMatchObject({
    counts: { rowsLanded: 1, rowsRejected: 12_000, rejected: { bad_time: 12_000 } },
  });
  expect(await count(shard, 'quarantine')).toBe(10_000);
});
