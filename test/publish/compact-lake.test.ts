import fc from 'fast-check';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { MEBIBYTE } from '../../src/lib/units.ts';
import type { Commit, LakeFile } from '../../src/publish/commit-schema.ts';
import { compactLake, planMerges } from '../../src/publish/compact-lake.ts';
import { periodBounds, periodOf } from '../../src/publish/lake-period.ts';
import { renewCurrent } from '../../src/publish/renew-current.ts';
import { isSoak } from '../support/rounds.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openOwnFixture } from './own-fixture.ts';
import { addSeries, type Fixture, landMessages, storeIntervals } from './publish-fixture.ts';

const compact = async ({ shard, lakeDir, clock }: Fixture, dryRun = false) => {
  const result = await compactLake(shard, { lakeDir, clock, logger: silentLogger, dryRun });
  await renewCurrent(shard, { lakeDir, isFinal: true, clock });
  return result;
};

const inFiles = (commit: Commit, dataset: string) => commit.files.filter((file) => file.dataset === dataset);

test.runIf(isSoak)('small files of an hour become one sorted file with the same messages', async () => {
  const at = await openOwnFixture();
  for (let batch = 0; batch < 3; batch++) {
    await landMessages(at.shard, { count: 10, storeTimeMs: TEST_START_MS + batch * 1000 });
    await at.publish();
  }
  const fingerprint = `SELECT count(*), bit_xor(hash(stream_offset, device, data, other, event_time)) FROM messages`;
  const before = await at.analyse(fingerprint);
  expect((await compact(at)).kind).toBe('unchanged');

  at.clock.set(TEST_START_MS + 2 * HOUR_MS);
  expect(await compact(at, true)).toMatchObject({
    kind: 'unchanged',
    merges: [{ folder: 'table=solar/hour=2026-11-20T12' }],
  });
  expect((await at.head()).sequence).toBe(3);

  expect(await compact(at)).toMatchObject({ kind: 'compacted', sequence: 4 });
  const [file, ...more] = inFiles(await at.head(), 'messages');
  expect(more).toEqual([]);
  expect(file).toMatchObject({ rows: 30, level: 1, folder: 'table=solar/hour=2026-11-20T12' });
  expect(await at.analyse(fingerprint)).toEqual(before);
  expect(
    await at.analyse(
      `SELECT bool_and(sorted) FROM (SELECT (device, event_time) >= lag((device, event_time), 1, (device, event_time)) OVER () AS sorted
       FROM read_parquet('${at.paths.current}/messages/*/*/*.parquet'))`,
    ),
  ).toEqual([[true]]);
  expect((await compact(at)).kind).toBe('unchanged');

  await landMessages(at.shard, { count: 10, storeTimeMs: TEST_START_MS + 2 * HOUR_MS });
  await at.publish();
  expect((await at.head()).totals.messages).toBe(40);
});

test('hours that are small together become a day, and days a month, sorted by device and time', {
  tags: ['slow'],
}, async () => {
  const at = await openOwnFixture();
  for (const hours of [0, 1, 24, 25]) {
    await landMessages(at.shard, { count: 4, storeTimeMs: TEST_START_MS + hours * HOUR_MS });
    await at.publish();
  }
  await addSeries(at.shard, 1, 1, 'inverter');
  for (const day of ['2026-11-20', '2026-11-21'])
    await storeIntervals(at.shard, { series: 1, day, energyWh: [1, 2] });
  await at.publish();
  at.clock.set(TEST_START_MS + 2 * DAY_MS);
  await compact(at);
  expect(inFiles(await at.head(), 'messages').map(({ folder, rows }) => [folder, rows])).toEqual([
    ['table=solar/hour=2026-11-20', 8],
    ['table=solar/hour=2026-11-21', 8],
  ]);
  at.clock.set(TEST_START_MS + 20 * DAY_MS);
  await compact(at);
  expect(inFiles(await at.head(), 'messages').map(({ folder, rows }) => [folder, rows])).toEqual([
    ['table=solar/hour=2026-11', 16],
  ]);
  expect(inFiles(await at.head(), 'interval_energy')).toMatchObject([
    { period: '2026-11', rows: 4, energyWh: 6 },
  ]);
  const rows = `read_parquet('${at.paths.current}/messages/*/*/*.parquet', file_row_number = true)`;
  expect(
    await at.analyse(`SELECT file_row_number FROM ${rows} ORDER BY device, event_time, stream_offset`),
  ).toEqual(Array.from({ length: 16 }, (_, index) => [BigInt(index)]));
  expect(await at.analyse('SELECT count(*), count(DISTINCT stream_offset) FROM messages')).toEqual([
    [16n, 16n],
  ]);
});

test.runIf(isSoak)('a late change of a month that was merged writes the month again', async () => {
  const at = await openOwnFixture();
  await addSeries(at.shard, 1, 1, 'inverter');
  for (const day of ['2026-11-01', '2026-11-02', '2026-11-03'])
    await storeIntervals(at.shard, { series: 1, day, energyWh: [1, 2, 3] });
  await at.publish();
  at.clock.set(TEST_START_MS + 20 * DAY_MS);
  await compact(at);
  expect(inFiles(await at.head(), 'interval_energy')).toMatchObject([
    { period: '2026-11', rows: 9, energyWh: 18 },
  ]);

  await storeIntervals(at.shard, { series: 1, day: '2026-11-02', energyWh: [1, 2, 4] });
  await at.publish();
  expect(inFiles(await at.head(), 'interval_energy')).toMatchObject([
    { period: '2026-11', rows: 9, energyWh: 19 },
  ]);
  expect(await at.analyse('SELECT count(*), sum(energy_wh)::BIGINT FROM interval_energy')).toEqual([
    [9n, 19n],
  ]);
});

const lakeFile = (fields: Partial<LakeFile>): LakeFile => ({
  dataset: 'messages',
  folder: 'table=solar/hour=2026-11-20T12',
  name: 'a.parquet',
  period: '2026-11-20T12',
  rows: 1,
  bytes: 1000,
  sha256: '',
  createdAtMs: TEST_START_MS,
  level: 0,
  ...fields,
});
const commitOf = (files: LakeFile[]) => ({ files }) as Commit;

test('a row is rewritten rarely while its hour grows, and its hour never has many files', () => {
  let files: LakeFile[] = [];
  let rewritten = 0;
  let mostFiles = 0;
  for (let index = 0; index < 720; index++) {
    files.push(lakeFile({ name: `${index}.parquet`, createdAtMs: TEST_START_MS + index * 5000 }));
    for (const merge of planMerges(commitOf(files), TEST_START_MS + index * 5000)) {
      const rows = merge.files.reduce((sum, file) => sum + file.rows, 0);
      rewritten += rows;
      files = files.filter((file) => !merge.files.includes(file));
      files.push(lakeFile({ name: `m${index}.parquet`, rows, level: merge.level }));
    }
    mostFiles = Math.max(mostFiles, files.length);
  }
  expect(mostFiles).toBeLessThanOrEqual(25);
  expect(rewritten / 720).toBeLessThanOrEqual(3);
});

test('an hour is merged ten minutes after its end, and ten minutes after its last file', () => {
  const overMs = periodBounds('2026-11-20T12').endMs + 10 * MINUTE_MS;
  const mergesAt = (nowMs: number, createdAtMs: number) =>
    planMerges(commitOf([lakeFile({}), lakeFile({ name: 'b.parquet', createdAtMs })]), nowMs).length;
  expect(mergesAt(overMs - 1, TEST_START_MS)).toBe(0);
  expect(mergesAt(overMs, TEST_START_MS)).toBe(1);
  expect(mergesAt(overMs, overMs - 10 * MINUTE_MS + 1)).toBe(0);
  expect(mergesAt(overMs, overMs - 10 * MINUTE_MS)).toBe(1);
});

test('hours are merged to a day only up to 32 MiB', () => {
  const day = (bytes: number) =>
    ['2026-11-20T12', '2026-11-20T13'].map((period) =>
      lakeFile({ name: period, period, folder: `table=solar/hour=${period}`, bytes }),
    );
  const plan = (bytes: number) => planMerges(commitOf(day(bytes)), TEST_START_MS + 2 * DAY_MS);
  expect(plan(16 * MEBIBYTE)).toMatchObject([
    { folder: 'table=solar/hour=2026-11-20', period: '2026-11-20' },
  ]);
  expect(plan(16 * MEBIBYTE + 1)).toEqual([]);
});

test('the files of one hour, and the days of a month of energy, are merged at any size', () => {
  const nowMs = periodBounds('2026-11').endMs + 3 * DAY_MS;
  const plan = (files: LakeFile[]) => planMerges(commitOf(files), nowMs).map(({ period }) => period);
  const bytes = 40 * MEBIBYTE;
  expect(plan(['a', 'b'].map((name) => lakeFile({ name, bytes })))).toEqual(['2026-11-20T12']);
  const days = ['2026-11-20', '2026-11-21'].map((period) =>
    lakeFile({ name: period, period, dataset: 'interval_energy', folder: '', bytes }),
  );
  expect(plan(days)).toEqual(['2026-11']);
});

test('the smallest work comes first, and a run merges 512 MiB, or one period that is larger', () => {
  const hours = ([hour, mebibytes]: readonly [number, number]) =>
    ['a', 'b'].map((name) =>
      lakeFile({
        name: `${hour}${name}`,
        period: `2026-11-20T${hour}`,
        folder: `table=solar/hour=2026-11-20T${hour}`,
        bytes: (mebibytes / 2) * MEBIBYTE,
      }),
    );
  const chosen = (...sizes: Array<readonly [number, number]>) =>
    planMerges(commitOf(sizes.flatMap(hours)), TEST_START_MS + 2 * DAY_MS).map(({ period }) =>
      period.slice(-2),
    );
  expect(chosen([12, 400], [13, 312], [14, 200])).toEqual(['14', '13']);
  expect(chosen([12, 312], [13, 202], [14, 400])).toEqual(['13']);
  expect(chosen([12, 700], [13, 701])).toEqual(['12']);
});

test('planned merges never share a file, and merged files are not merged again', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          hour: fc.integer({ min: 0, max: 24 * 40 }),
          table: fc.constantFrom('solar', 'wind'),
          bytes: fc.integer({ min: 1, max: 40_000_000 }),
          level: fc.integer({ min: 0, max: 2 }),
        }),
        { maxLength: 60 },
      ),
      (wanted) => {
        let files = wanted.map(({ hour, table, bytes, level }, index) => {
          const period = periodOf(TEST_START_MS + hour * HOUR_MS, 'hour');
          return lakeFile({
            name: `${index}`,
            period,
            folder: `table=${table}/hour=${period}`,
            bytes,
            level,
          });
        });
        const total = files.length;
        const nowMs = TEST_START_MS + 100 * DAY_MS;
        for (let round = 0; ; round++) {
          const merges = planMerges(commitOf(files), nowMs);
          if (merges.length === 0) break;
          expect(round).toBeLessThan(total + 1);
          const names = merges.flatMap((merge) => merge.files.map(({ name }) => name));
          expect(new Set(names).size).toBe(names.length);
          files = files.filter(({ name }) => !names.includes(name));
          for (const merge of merges) {
            expect(new Set(merge.files.map(({ folder }) => folder.split('/')[0])).size).toBe(1);
            files.push(
              lakeFile({
                name: `${round}-${merge.folder}`,
                folder: merge.folder,
                period: merge.period,
                level: merge.level,
                rows: merge.files.reduce((sum, file) => sum + file.rows, 0),
                bytes: merge.files.reduce((sum, file) => sum + file.bytes, 0),
                createdAtMs: nowMs - 20 * MINUTE_MS,
              }),
            );
          }
        }
        expect(files.reduce((sum, file) => sum + file.rows, 0)).toBe(total);
        expect(new Set(files.map(({ folder }) => folder)).size).toBe(files.length);
      },
    ),
  );
});
