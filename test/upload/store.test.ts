import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { metersSchema, sitesSchema } from '../../src/config/meters.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { granularityOf } from '../../src/upload/budget-rows.ts';
import { listUploads } from '../../src/upload/list-uploads.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import {
  budget,
  budgets,
  HOUR,
  interval,
  intervals,
  register,
  registers,
  T0,
  withShard,
} from './store-fixture.ts';

test('a later upload with another value counts under the next revision, and the replaced value is kept', () =>
  withShard(async ({ shard, store, current }) => {
    expect(await store(intervals(interval(0, 1, 100), interval(1, 1, 200)))).toMatchObject({
      kind: 'stored',
      uploadId: 1,
      accepted: 2,
      stored: 2,
      revision: 1,
    });
    expect(await store(intervals(interval(1, 1, 250), interval(2, 1, 300)))).toMatchObject({
      stored: 2,
      replaced: 1,
      revision: 2,
    });
    expect(await current()).toEqual([
      [0, 1, 100, 'measured', 1],
      [1, 2, 250, 'measured', 2],
      [2, 3, 300, 'measured', 1],
    ]);
    const all = await shard.transaction((connection) =>
      connection.runAndReadAll(
        'SELECT energy_wh, replaced_by FROM meter_reading WHERE replaced_by IS NOT NULL',
      ),
    );
    expect(all.getRows()).toEqual([[200, 2n]]);
    const { meters } = await shard.read(listUploads);
    expect(meters).toMatchObject([{ readings: 3, energyWh: 650, revision: 2 }]);
  }));

test('the same rows again do nothing, unless they are to count again', { tags: ['slow'] }, () =>
  withShard(async ({ store, current }) => {
    const first = intervals(interval(0, 1, 100));
    await store(first);
    await store(intervals(interval(0, 1, 150)));
    expect(await store(first)).toEqual({
      kind: 'stored-before',
      uploadId: 1,
      accepted: 1,
      revision: 1,
      receivedAtMs: TEST_START_MS,
    });
    expect(await current()).toEqual([[0, 1, 150, 'measured', 2]]);
    expect(await store(first, true)).toMatchObject({ kind: 'stored', revision: 3 });
    expect(await current()).toEqual([[0, 1, 100, 'measured', 3]]);
    // The newest upload of these rows is named.
    expect(await store(first)).toMatchObject({ kind: 'stored-before', uploadId: 3, revision: 3 });
  }),
);

test('rows with known values are not stored again', { tags: ['slow'] }, () =>
  withShard(async ({ store }) => {
    await store(intervals(interval(0, 1, 100), interval(1, 1, 200)));
    expect(await store(intervals(interval(0, 1, 100), interval(2, 1, 1)))).toMatchObject({
      accepted: 2,
      stored: 1,
      unchanged: 1,
      replaced: 0,
      revision: 1,
    });
    expect(
      await store(
        intervals(
          { ...interval(0, 1, 100), quality: 'estimated' },
          { ...interval(1, 1, 200), direction: 'export' },
        ),
      ),
    ).toMatchObject({ stored: 2, unchanged: 0, replaced: 2, revision: 2 });
  }),
);

test(
  'registers become the growth between their values, and a fall is a fault without energy',
  { tags: ['slow'] },
  () =>
    withShard(async ({ shard, store, current }) => {
      expect(
        await store(
          registers(
            register(0, 1000.5),
            register(2, 1500.75),
            register(3, 20),
            { ...register(5, 70), quality: 'estimated' },
            register(6, 70),
            { ...register(7, 80), quality: 'substituted' },
            { ...register(8, 95), quality: 'estimated' },
          ),
        ),
      ).toMatchObject({
        stored: 7,
        revision: 1,
      });
      expect(await current()).toEqual([
        [0, 2, 500.25, 'measured', 1],
        [2, 3, null, 'fault', 1],
        [3, 5, 50, 'estimated', 1],
        [5, 6, 0, 'estimated', 1],
        [6, 7, 10, 'substituted', 1],
        [7, 8, 15, 'substituted', 1],
      ]);
      const { meters } = await shard.transaction(listUploads);
      expect(meters).toMatchObject([
        { fromRegister: true, readings: 6, firstMs: T0, lastMs: T0 + 8 * HOUR, energyWh: 575.25, faults: 1 },
      ]);
      await store(registers(register(0, 0.1, 'GRID-2'), register(1, 0.3, 'GRID-2')));
      expect((await current()).at(-1)).toEqual([0, 1, 0.2, 'measured', 1]);
      const dirty = await shard.transaction((connection) =>
        connection.runAndReadAll('SELECT DISTINCT dataset, partition FROM dirty_partition ORDER BY ALL'),
      );
      expect(dirty.getRows()).toContainEqual(['meter_reading', '2026-06']);
    }),
);

test('a register with one value is listed without energy, from its current value', { tags: ['slow'] }, () =>
  withShard(async ({ shard, store }) => {
    await store(registers(register(5, 1)));
    await store(registers(register(5, 2)));
    const { meters } = await shard.transaction(listUploads);
    const atMs = T0 + 5 * HOUR;
    expect(meters).toMatchObject([
      { fromRegister: true, readings: 0, firstMs: atMs, lastMs: atMs, energyWh: 0, revision: 2 },
    ]);
    await store(registers(register(6, 3)));
    expect((await shard.transaction(listUploads)).meters).toMatchObject([{ readings: 1, energyWh: 1 }]);
  }),
);

test(
  'a value between two others cuts their interval in two, and a corrected one changes both beside it',
  { tags: ['slow'] },
  () =>
    withShard(async ({ store, current }) => {
      await store(registers(register(0, 1000), register(4, 1400)));
      await store(registers(register(1, 1300)));
      expect(await current()).toEqual([
        [0, 1, 300, 'measured', 2],
        [1, 4, 100, 'measured', 2],
      ]);
      expect(await store(registers(register(1, 1100)))).toMatchObject({
        stored: 1,
        replaced: 1,
        revision: 2,
      });
      expect(await current()).toEqual([
        [0, 1, 100, 'measured', 3],
        [1, 4, 300, 'measured', 3],
      ]);
      // The value that was replaced comes back.
      await store(registers(register(1, 1300)), true);
      expect(await current()).toEqual([
        [0, 1, 300, 'measured', 4],
        [1, 4, 100, 'measured', 4],
      ]);
    }),
);

test('a meter is uploaded by its intervals or by its register, not by both', { tags: ['slow'] }, () =>
  withShard(async ({ store }) => {
    await store(registers(register(0, 1000)));
    await store(intervals(interval(0, 1, 1, 'GRID-2')));
    expect(await store(intervals(interval(0, 1, 1)))).toMatchObject({
      kind: 'refused',
      problems: [
        { line: 2, message: expect.stringMatching(/GRID-1 already has uploaded values of its register/) },
      ],
    });
    expect(await store(registers(register(0, 1, 'GRID-2')))).toMatchObject({
      kind: 'refused',
      problems: [{ line: 2, message: expect.stringMatching(/GRID-2 already has uploaded intervals/) }],
    });
  }),
);

test(
  'budgets of several lengths can coexist, and of one length the later one counts',
  { tags: ['slow'] },
  () =>
    withShard(async ({ shard, store }) => {
      await store(
        budgets(
          budget('2026-01-01', '2026-12-31', 1000),
          budget('2026-01-01', '2026-01-31', 50),
          budget('2026-01-01', '2026-01-01', 2),
        ),
      );
      await store(
        budgets(budget('2026-01-01', '2026-01-31', 60), budget('2026-01-01', '2026-01-31', 40, 'P90')),
      );
      const { budgets: listed } = await shard.transaction(listUploads);
      expect(
        listed.map(({ scenario, period, energyWh, revision }) => [scenario, period, energyWh, revision]),
      ).toEqual([
        ['P50', 'year', 1000, 1],
        ['P50', 'month', 60, 2],
        ['P50', 'day', 2, 1],
        ['P90', 'month', 40, 1],
      ]);
      expect(await store(budgets(budget('2026-01-01', '2026-01-01', 3)))).toMatchObject({
        stored: 1,
        replaced: 1,
        revision: 2,
      });
      // The value that was replaced comes back.
      expect(await store(budgets(budget('2026-01-01', '2026-01-31', 50)))).toMatchObject({
        stored: 1,
        revision: 3,
      });
    }),
);

test('a period that only begins or only ends with a month or a year is neither, in a file and when stored', () =>
  withShard(async ({ shard, store }) => {
    const periods = [
      ['2026-02-28', '2026-02-28', 'day'],
      ['2028-02-01', '2028-02-29', 'month'],
      ['2026-01-01', '2026-12-31', 'year'],
      ['2026-05-01', '2026-05-30', 'other'],
      ['2026-05-17', '2026-05-31', 'other'],
      ['2026-01-01', '2026-06-30', 'other'],
      ['2026-06-01', '2026-12-31', 'other'],
      ['2026-01-01', '2027-12-31', 'other'],
    ] as const;
    expect(periods.map(([start, end]) => [start, end, granularityOf({ start, end })])).toEqual(periods);
    // Each has its own scenario, because periods of one kind must not overlap.
    const upload = budgets(...periods.map(([start, end]) => budget(start, end, 10, `${start} ${end}`)));
    await store(upload);
    expect(await store(upload, true)).toMatchObject({ stored: 0, unchanged: periods.length });
    const { budgets: listed } = await shard.read(listUploads);
    expect(listed.map(({ firstDay, lastDay, period }) => [firstDay, lastDay, period]).sort()).toEqual(
      periods.toSorted(),
    );
  }));

test('a quarter that overlaps another quarter by a month is refused', () =>
  withShard(async ({ store }) => {
    await store(budgets(budget('2026-01-01', '2026-03-31', 30)));
    expect(await store(budgets(budget('2026-03-01', '2026-05-31', 30)))).toMatchObject({
      kind: 'refused',
      problems: [
        { message: expect.stringMatching(/uploaded at 2026-11-20T12:00.*from 2026-01-01 to 2026-03-31/) },
      ],
    });
  }));

test(
  'a row is compared only with rows of its own meter, scenario and kind of period',
  { tags: ['slow'] },
  () =>
    withShard(async ({ shard, store, current }) => {
      await store(intervals(interval(0, 2, 1), interval(2, 2, 1), interval(10, 1, 5)));
      // The row of GRID-1 covers two. That of GRID-2 begins in the first of them, and before the second. The
      // other one has the place and the energy of a row of GRID-1.
      const others = [interval(1, 2, 7, 'GRID-2'), interval(10, 1, 5, 'GRID-2')];
      expect(await store(intervals(interval(0, 4, 2), interval(12, 1, 3), ...others))).toMatchObject({
        stored: 4,
        replaced: 2,
      });
      expect(await current()).toEqual([
        [0, 4, 2, 'measured', 2],
        [10, 11, 5, 'measured', 1],
        [12, 13, 3, 'measured', 1],
        [1, 3, 7, 'measured', 1],
        [10, 11, 5, 'measured', 1],
      ]);

      await store(budgets(budget('2026-01-01', '2026-01-20', 1), budget('2026-01-21', '2026-02-10', 1)));
      expect(
        await store(
          budgets(
            budget('2026-01-01', '2026-02-10', 2),
            budget('2026-01-15', '2026-01-15', 7),
            budget('2026-01-10', '2026-01-12', 7, 'P90'),
          ),
        ),
      ).toMatchObject({ stored: 3, replaced: 2 });
      const { budgets: listed } = await shard.read(listUploads);
      expect(listed.map(({ scenario, period, revision }) => [scenario, period, revision])).toEqual([
        ['P50', 'other', 2],
        ['P50', 'day', 1],
        ['P90', 'other', 1],
      ]);
    }),
);

test(
  'each row of an upload of several slices is compared with the row of its own place',
  { tags: ['slow'] },
  () =>
    withShard(async ({ store }) => {
      const rows = Array.from({ length: 20_001 }, (_, hour) => interval(hour, 1, hour));
      await store(intervals(rows.at(-1)!));
      expect(await store(intervals(...rows))).toMatchObject({ stored: 20_000, unchanged: 1 });
    }),
);

test(
  'the next generation of the lake has readings by month, budgets, meters and the members of sites',
  { tags: ['slow'] },
  () =>
    withShard(async ({ shard, lakeDir, store }) => {
      const declared = {
        devices: [],
        meters: metersSchema.parse([{ code: 'GRID-1', name: 'Feed-in', direction: 'export' }]),
        sites: sitesSchema.parse([
          {
            name: 'roof',
            meters: [{ code: 'GRID-1', sign: -1, from: '2026-01-01' }],
            devices: [{ id: '7c9e6679-7425-40de-944b-e07fc1f90ae7' }],
          },
        ]),
      };
      const options = {
        lakeDir,
        declared,
        currentEveryMs: 0,
        clock: createTestClock(),
        logger: silentLogger,
      };
      await store(intervals(interval(1, 1, 10), interval(2, 1, 20)));
      await store(budgets(budget('2026-01-01', '2026-12-31', 1000)));
      await store(budgets(budget('2026-01-01', '2026-12-31', 1100)));
      expect(await publishAndRenew(shard, options)).toMatchObject({ kind: 'published' });
      await store(intervals(interval(2, 1, 25)));
      // Of the readings, June alone.
      expect(await publishAndRenew(shard, options)).toMatchObject({ kind: 'published', files: 1, rows: 2 });
      expect(await publishAndRenew(shard, options)).toMatchObject({ kind: 'unchanged' });
      // An interval that starts in May replaces a reading of June.
      await store(intervals(interval(1, 2, 40)));
      expect(await publishAndRenew(shard, options)).toMatchObject({ kind: 'published', files: 2 });
      const lake = await DuckDBInstance.create(join(lakeDir, WORKGROUP, 'current', 'analytics.duckdb'), {
        access_mode: 'READ_ONLY',
      });
      const connection = await lake.connect();
      const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
      await connection.run("SET TimeZone = 'UTC'");
      expect(
        await rows(
          'SELECT interval_start::VARCHAR, energy_wh, revision, is_current FROM meter_reading ORDER BY ALL',
        ),
      ).toEqual([
        ['2026-05-31 23:00:00+00', 10, 1, false],
        ['2026-05-31 23:00:00+00', 40, 3, true],
        ['2026-06-01 00:00:00+00', 20, 1, false],
        ['2026-06-01 00:00:00+00', 25, 2, false],
      ]);
      expect(
        await rows(
          'SELECT meter_code, period_start, period_end, energy_wh, is_current FROM budget ORDER BY ALL',
        ),
      ).toEqual([
        ['PV', '2026-01-01', '2026-12-31', '1000', false],
        ['PV', '2026-01-01', '2026-12-31', '1100', true],
      ]);
      expect(await rows('SELECT * FROM meter')).toEqual([['GRID-1', 'Feed-in', 'export', null, null]]);
      expect(
        await rows(
          'SELECT site, meter_code, device, sign, valid_from, valid_to FROM site_member ORDER BY ALL',
        ),
      ).toEqual([
        ['roof', 'GRID-1', null, -1, '2026-01-01', null],
        ['roof', null, '7c9e6679-7425-40de-944b-e07fc1f90ae7', 1, null, null],
      ]);
      connection.closeSync();
      lake.closeSync();
    }),
);
