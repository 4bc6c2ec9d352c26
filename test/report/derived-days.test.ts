import { join } from 'node:path';
import { DuckDBInstance, type DuckDBListValue, type DuckDBValue } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { dayBounds } from '../../src/lib/time.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';

const device = deviceId(1);

async function connect() {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  return connection;
}

/** An interval: source, stream, start, Wh, covered minutes and flags. */
type Interval = readonly [
  source: string,
  stream: number,
  at: string,
  wh: number,
  minutes: number,
  flags?: string,
];
/** A day of the workgroup: source, day, stream, version and flags. */
type OwnDay = readonly [source: string, day: string, stream: number, version?: number, flags?: string];

/** The parts of the UTC days of the workgroup that are 20 November in Paris: from 23:00 to 23:00 UTC. */
async function partsOf(ownDays: readonly OwnDay[], intervals: readonly Interval[]) {
  const connection = await connect();
  const folder = tempDir();
  const [files, interval_files] = ['days', 'intervals'].map((name) => join(folder, `${name}.parquet`));
  const list = (flags = '') => `list_filter(split('${flags}', ' '), lambda flag: flag <> '')`;
  const dayRows = ownDays.map(
    ([source, day, stream, version = 1, flags]) =>
      `('${source}', DATE '${day}', ${stream}, ${version}, ${list(flags)})`,
  );
  await connection.run(
    `COPY (SELECT UUID '${device}' AS device, * FROM (VALUES ${dayRows.join(', ')})
      AS row (source, day, stream_id, version, flags)) TO '${files}' (FORMAT parquet)`,
  );
  const intervalRows = intervals.map(
    ([source, stream, at, wh, minutes, flags]) =>
      `('${source}', ${stream}, TIMESTAMPTZ '2026-11-${at}:00Z', ${wh}, ${minutes} * 60000, ${list(flags)})`,
  );
  await connection.run(
    `COPY (SELECT UUID '${device}' AS device, * FROM (VALUES ${intervalRows.join(', ')})
      AS row (source, stream_id, interval_start, energy_wh, covered_ms, flags)) TO '${interval_files}' (FORMAT parquet)`,
  );
  await connection.run(`CREATE TABLE rule AS ${loadSql('balance/find_rule')}`);
  await connection.run(`CREATE TABLE member AS SELECT UUID '${device}' AS device`);
  const [paris] = dayBounds('2026-11-20', '2026-11-20', 'Europe/Paris');
  await connection.run(
    `CREATE TABLE local_day AS SELECT DATE '2026-11-20' AS day, ${paris!.startMs} AS start_ms, ${paris!.endMs} AS end_ms`,
  );
  const own = dayBounds('2026-11-19', '2026-11-20', 'Etc/UTC');
  const rows = await queryText<Record<string, DuckDBValue> & { flags: DuckDBListValue }>(
    connection,
    `SELECT * REPLACE (day::VARCHAR AS day) FROM (${loadSql('report/select_source_days_of_zone')})
      ORDER BY source, day`,
    {
      own_days: own.map(({ day }) => day),
      own_starts_ms: own.map(({ startMs }) => BigInt(startMs)),
      own_ends_ms: own.map(({ endMs }) => BigInt(endMs)),
      start_day: '2026-11-20',
      files: [files!],
      interval_files: [interval_files!],
    },
  );
  connection.closeSync();
  return rows.map(({ source, day, energy_wh, rise_wh, fall_wh, coverage, flags, version }) => ({
    ...{ of: `${source} ${day}`, wh: Number(energy_wh), coverage, flags: flags.items.toSorted(), version },
    rise: rise_wh === null ? null : Number(rise_wh),
    fall: fall_wh === null ? null : Number(fall_wh),
  }));
}

test('a day of another zone has the intervals of the streams from which the days of the workgroup were read', async () => {
  const parts = await partsOf(
    [
      ['pv', '2026-11-19', 1, 3],
      ['pv', '2026-11-20', 2],
    ],
    [
      // Before the day, in the evening of the day before, at its last quarter of an hour, and after it.
      ['pv', 1, '19T22:45', 1_000, 15],
      ['pv', 1, '19T23:00', 10, 15],
      ['pv', 2, '20T22:45', 5, 15],
      ['pv', 2, '20T23:00', 1_000, 15],
      // Of the other stream.
      ['pv', 2, '19T23:15', 1_000, 15],
      ['pv', 1, '20T00:00', 1_000, 15],
      ['other', 1, '19T23:15', 1_000, 15],
    ],
  );
  const quarter = 0.25 / 24;
  expect(parts).toEqual([
    { of: 'pv 2026-11-19', wh: 10, rise: 10, fall: 0, coverage: quarter, flags: [], version: 3 },
    { of: 'pv 2026-11-20', wh: 5, rise: 5, fall: 0, coverage: quarter, flags: [], version: 1 },
  ]);
});

test('its flags are those of its intervals; it is estimated if one of its bounds is', async () => {
  const sources = ['first', 'inside', 'last', 'lacking', 'flagged', 'empty'];
  const flags = Object.fromEntries(
    (
      await partsOf(
        sources.map((source) => [source, '2026-11-20', 1, 1, source === 'lacking' ? 'incomplete' : '']),
        [
          // This is the first interval of the part, and not of the day.
          ['first', 1, '20T00:00', 1, 15, 'estimated'],
          ['inside', 1, '20T12:00', 1, 15, 'estimated partial'],
          ['last', 1, '20T22:45', 1, 15, 'estimated'],
          ['lacking', 1, '20T12:00', 1, 15],
          ['flagged', 1, '20T12:00', 1, 15, 'reset gap'],
          ['flagged', 1, '20T12:15', 1, 15, 'reset spike'],
          // Nothing is known of this interval.
          ['flagged', 1, '20T12:30', 0, 0, 'glitch'],
          ['empty', 1, '20T12:00', 0, 0, 'gap'],
        ],
      )
    ).map((part) => [part.of.split(' ')[0], part.flags]),
  );
  expect(flags).toEqual({
    first: [],
    inside: [],
    last: ['estimated'],
    lacking: ['incomplete'],
    flagged: ['gap', 'reset', 'spike'],
  });
  const [evening] = await partsOf([['pv', '2026-11-19', 1]], [['pv', 1, '19T23:00', 1, 15, 'estimated']]);
  expect(evening!.flags).toEqual(['estimated']);
});

test('rise and fall are known if at most 20 Wh of its energy have no shape', async () => {
  const of = async (estimatedWh: number) =>
    (
      await partsOf(
        [['net', '2026-11-20', 1]],
        [
          ['net', 1, '20T10:00', 30, 15],
          ['net', 1, '20T10:15', -50, 15],
          ['net', 1, '20T10:30', -estimatedWh, 15, 'estimated'],
        ],
      )
    ).map(({ wh, rise, fall }) => [wh, rise, fall]);
  expect(await of(20)).toEqual([[-40, 30, 70]]);
  expect(await of(21)).toEqual([[-41, null, null]]);
});

/** The days of members from parts of days of sources and devices. */
async function daysOf(
  parts: ReadonlyArray<
    readonly [of: 'source' | 'device', wh: number | null, coverage: number, flags?: string, version?: number]
  >,
) {
  const connection = await connect();
  for (const name of ['source', 'device'] as const) {
    const rows = parts
      .filter(([of]) => of === name)
      .map(
        ([, wh, coverage, flags = '', version = 1]) =>
          `(${wh}::BIGINT, ${coverage}::DOUBLE, list_filter(split('${flags}', ' '), lambda flag: flag <> ''), ${version})`,
      );
    await connection.run(
      `CREATE TABLE ${name}_day AS SELECT UUID '${device}' AS device, 'pv' AS source, DATE '2026-11-20' AS reported_day, *
        FROM (VALUES ${[...rows, '(0, 0, [], 0)'].join(', ')}) AS row (energy_wh, coverage, flags, version) WHERE version > 0`,
    );
  }
  await connection.run(
    `CREATE TABLE member AS SELECT * FROM (VALUES ('PV', UUID '${device}', 'pv'), ('ALL', UUID '${device}', NULL))
      AS row (key, device, source)`,
  );
  const rows = await queryText<Record<string, DuckDBValue> & { flags: DuckDBListValue }>(
    connection,
    `SELECT * FROM (${loadSql('report/select_derived_days')}) ORDER BY key`,
    { full_coverage_share: 0.99 },
  );
  connection.closeSync();
  return rows.map(({ key, energy_wh, coverage, flags, quality, revision }) => [
    ...[
      key,
      energy_wh === null ? null : Number(energy_wh),
      coverage,
      flags.items.join(' '),
      quality,
      revision,
    ],
  ]);
}

test('the parts of a day are added up, for a source and for the device as a whole', async () => {
  expect(
    await daysOf([
      ['source', 10, 0.041_666_6, 'reset', 2],
      ['source', 5, 0.95, 'gap reset', 1],
      ['device', 100, 0.5],
      ['device', 200, 0.5],
    ]),
  ).toEqual([
    ['ALL', 300, 1, '', 'measured', 1],
    ['PV', 15, 0.9917, 'gap reset', 'measured', 2],
  ]);
});

test.each<[what: string, parts: Parameters<typeof daysOf>[0], day: unknown[]]>([
  ['complete', [['source', 5, 0.99]], ['PV', 5, 0.99, '', 'measured', 1]],
  ['partial', [['source', 5, 0.9899]], ['PV', 5, 0.9899, 'partial', 'measured', 1]],
  ['partial, and already flagged', [['source', 5, 0.5, 'partial']], ['PV', 5, 0.5, 'partial', 'measured', 1]],
  ['estimated', [['source', 5, 1, 'estimated']], ['PV', 5, 1, 'estimated', 'estimated', 1]],
  ['unknown', [['source', null, 0.5, 'incomplete']], ['PV', null, 0.5, 'incomplete', null, 1]],
  [
    'unknown if a part of it is',
    [
      ['source', 5, 0.5],
      ['source', null, 0],
    ],
    ['PV', null, 0.5, '', null, 1],
  ],
])('a day is %s', async (_, parts, day) => {
  expect(await daysOf(parts)).toEqual([day]);
});
