import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText } from '../../src/warehouse/query.ts';

async function read(tables: Record<string, string>, statement: string) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  for (const [name, select] of Object.entries(tables))
    await connection.run(`CREATE TABLE ${name} AS ${select}`);
  const rows = await queryText(connection, loadSql(statement));
  connection.closeSync();
  instance.closeSync();
  return rows;
}

interface Source {
  counts?: boolean;
  wh?: number | null;
  part?: 'whole' | 'rise' | 'fall';
  coverage?: number;
  status?: string;
  version?: number;
  /** An hour. */
  computed?: number;
  flags?: string;
  counting?: number;
  mixed?: boolean;
  /** Sources of the device without a role. One of them makes the day undeclared. */
  lacking?: number;
  role?: null;
  /** It has a role on other days. */
  lacksRole?: boolean;
}

/** The day of a device from its sources. */
async function dayOf(...sources: Source[]) {
  const rows = sources.map(
    ({ counts = true, wh = 1, part = 'whole', coverage = 1, status = 'final', version = 1, ...more }) =>
      `(${counts}, ${wh}::BIGINT, '${part}', ${coverage}::DOUBLE, '${status}', ${version}, ${more.computed ?? 0}, '${more.flags ?? ''}', ${more.counting ?? 1}, ${more.mixed ?? false}, ${more.lacking ?? 0}, ${more.role === null ? 'NULL' : "'production'"}, ${more.lacksRole ?? false})`,
  );
  const [day] = await read(
    {
      source_day: `SELECT DATE '2026-11-20' AS day, DATE '2026-11-20' AS reported_day, 1 AS device, counts, part,
        role, is_mixed, counting AS counting_sources, lacking_sources, 0 AS lacking_max,
        lacks_with_energy, wh AS energy_wh, 30 AS rise_wh, 20 AS fall_wh,
        ['total_energy'] AS methods, list_filter(split(flags, ' '), lambda flag: flag <> '') AS flags, coverage,
        status, version, computed AS computed_at
        FROM (VALUES ${rows.join(', ')}) AS row (counts, wh, part, coverage, status, version, computed, flags, counting,
          is_mixed, lacking_sources, role, lacks_with_energy)`,
    },
    'balance/sum_device_day',
  );
  const { energy_wh, coverage, status, version, computed_at, flags, methods } = day!;
  return {
    ...{ wh: energy_wh === null ? null : Number(energy_wh), coverage, status, version, computed_at },
    ...{ flags: String(flags), methods: String(methods) },
  };
}

test('a device has the facts of the sources that count', async () => {
  const other = {
    counts: false,
    wh: 100,
    coverage: 0.1,
    status: 'provisional',
    version: 9,
    computed: 9,
    flags: 'gap',
  };
  expect(
    await dayOf(
      { wh: 5, coverage: 0.9, flags: 'reset' },
      { wh: 7, coverage: 0.8, version: 2, computed: 3, flags: 'reset' },
      other,
    ),
  ).toEqual({
    ...{ wh: 12, coverage: 0.8, status: 'final', version: 2, computed_at: 3 },
    ...{ flags: "['reset']", methods: "['total_energy']" },
  });
  expect(await dayOf({}, { ...other, status: 'restated' })).toMatchObject({ status: 'final' });
});

test('a day is provisional if one of them is, else restated if one of them is', async () => {
  const statusOf = async (...statuses: string[]) =>
    (await dayOf(...statuses.map((status) => ({ status })))).status;
  expect(await statusOf('final', 'restated', 'provisional')).toBe('provisional');
  expect(await statusOf('final', 'restated')).toBe('restated');
  expect(await statusOf('final', 'final')).toBe('final');
});

test('without a source that counts the energy is unknown, and the other facts are those of all', async () => {
  const other = { counts: false, status: 'restated', version: 9, computed: 9, flags: 'gap' };
  expect(await dayOf(other)).toEqual({
    ...{ wh: null, coverage: 0, status: 'restated', version: 9, computed_at: 9 },
    ...{ flags: "['incomplete']", methods: '[]' },
  });
});

test('a device is incomplete if a source that should count has no energy', async () => {
  expect((await dayOf({ counting: 2 })).flags).toBe("['incomplete']");
  expect((await dayOf({ counting: 2 }, { counting: 2 })).flags).toBe('[]');
  // A source without a role does not stand for one that should count.
  expect((await dayOf({ counting: 2 }, { counting: 2, role: null })).flags).toBe("['incomplete']");
  expect(await dayOf({ wh: 5 }, { wh: null })).toMatchObject({ wh: null, flags: "['incomplete']" });
});

test('a device can be incomplete, mixed and undeclared on one day, beside the flags of its sources', async () => {
  const flagsOf = async (source: Source) => (await dayOf(source)).flags;
  expect(await flagsOf({ flags: 'reset', counting: 2, mixed: true, lacking: 1 })).toBe(
    "['incomplete', 'mixed', 'reset', 'undeclared']",
  );
  expect(await flagsOf({ counting: 2, mixed: true })).toBe("['incomplete', 'mixed']");
  expect(await flagsOf({ counting: 2, lacking: 1 })).toBe("['incomplete', 'undeclared']");
  expect(await flagsOf({ mixed: true, lacking: 1 })).toBe("['mixed', 'undeclared']");
});

test('a source with energy that has a role on other days only makes the day undeclared', async () => {
  expect((await dayOf({}, { counts: false, lacksRole: true })).flags).toBe("['undeclared']");
  expect((await dayOf({}, { counts: false, lacksRole: false })).flags).toBe('[]');
});

test('of a net register the part that counts is added', async () => {
  expect((await dayOf({ part: 'rise' }, { part: 'fall' }, { wh: 5 })).wh).toBe(30 + 20 + 5);
});

test('rise and fall of a day are known if at most 20 Wh of it have no shape', async () => {
  const of = async (spreadWh: number) =>
    (
      await read(
        {
          rule: loadSql('balance/find_rule'),
          measured: `SELECT DATE '2026-11-20' AS own_day, 1 AS device, 'net' AS source, * FROM (VALUES
            (30, false), (-50, false), (${-spreadWh}, true)) AS row (energy_wh, is_spread)`,
        },
        'balance/sum_rise_fall',
      )
    ).map(({ rise_wh, fall_wh }) => [rise_wh, fall_wh]);
  expect(await of(20)).toEqual([[30n, 70n]]);
  expect(await of(21)).toEqual([[null, null]]);
});

test('the intervals of a day of another zone are those that are over, each with its day of the workgroup', async () => {
  const quarter = 900_000;
  const days = (...rows: Array<[day: number, from: number, to: number]>) =>
    `FROM (VALUES ${rows.map(([day, from, to]) => `(DATE '2026-11-0${day}', ${from * quarter}, ${to * quarter})`).join(', ')}) AS row (day, start_ms, end_ms)`;
  const slots = await read(
    {
      // The interval from 4 to 5 ends now.
      rule: `SELECT * REPLACE (${5 * quarter} AS now_ms) FROM (${loadSql('balance/find_rule')})`,
      own_day: days([1, 0, 4], [2, 4, 8]),
      zone_day: days([3, 2, 8]),
    },
    'balance/find_slot',
  );
  const found = slots.map(({ at_ms, day, own_day }) => [
    Number(at_ms) / quarter,
    String(day),
    String(own_day),
  ]);
  expect(found.sort()).toEqual([
    [2, '2026-11-03', '2026-11-01'],
    [3, '2026-11-03', '2026-11-01'],
    [4, '2026-11-03', '2026-11-02'],
  ]);
});

test('an interval is measured if time of it is covered, or if it has energy of an instant', async () => {
  const intervals = '(0, 0, 900000), (1, 0, 0), (2, 3, 0), (3, 5, 1)';
  const rows = await read(
    {
      interval_energy: `SELECT 1 AS device, 'pv' AS source, 1 AS stream_id, make_timestamptz(place * 900000000::BIGINT) AS interval_start,
        energy_wh, covered_ms, []::VARCHAR[] AS flags FROM (VALUES ${intervals}) AS row (place, energy_wh, covered_ms)`,
      own_slot: "SELECT DATE '1970-01-01' AS own_day, unnest(range(0, 3600000, 900000)) AS at_ms",
      read_from:
        "SELECT 1 AS device, 'pv' AS source, 1 AS stream_id, DATE '1970-01-01' AS own_day, false AS is_sparse",
    },
    'balance/find_measured',
  );
  expect(rows.map(({ at_ms, energy_wh }) => [Number(at_ms) / 900_000, energy_wh]).sort()).toEqual([
    [0, 0],
    [2, 3],
    [3, 5],
  ]);
});
