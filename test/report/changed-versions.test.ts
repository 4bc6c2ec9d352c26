import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import type { DayChange } from '../../src/report/day-changes.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A version of a day: number, Wh, status, and the hour of 20 November in which it was computed. */
type Version = readonly [
  version: number,
  wh: number | null,
  status: string | null,
  hour: number,
  causes?: string,
];

/** The changes of a day from 10:00 up to 14:00. */
async function changesOf(
  versions: readonly Version[],
  withProvisional = false,
  rowsMax = 10,
): Promise<DayChange[]> {
  const path = join(tempDir(), 'versions.parquet');
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  await connection.run(loadSql('report/create_report_macros'));
  const rows = versions.map(
    ([version, wh, status, hour, causes = 'stream']) =>
      `(${version}, ${wh}::BIGINT, ${status === null ? 'NULL' : `'${status}'`}, TIMESTAMPTZ '2026-11-20T${hour}:00:00Z', split('${causes}', ' '), ${100 + version})`,
  );
  await connection.run(`COPY (SELECT DATE '2026-11-01' AS day, UUID '${deviceId(1)}' AS device, 'pv' AS source,
      'total_energy' AS method, []::VARCHAR[] AS flags, 1.0::DOUBLE AS coverage, *
    FROM (VALUES ${rows.join(', ')}) AS row (version, energy_wh, status, computed_at, causes, batch_id))
    TO '${path}' (FORMAT parquet)`);
  const [since, until] = ['10', '14'].map((hour) => BigInt(Date.parse(`2026-11-20T${hour}:00:00Z`)));
  const found = await queryText<{ change: string }>(connection, loadSql('report/answer_day_changes'), {
    files: [path],
    devices: [deviceId(1)],
    since_ms: since!,
    until_ms: until!,
    with_provisional: withProvisional,
    rows_max: rowsMax,
  });
  connection.closeSync();
  instance.closeSync();
  return found.map(({ change }) => JSON.parse(change) as DayChange);
}

/** The kind of a change, with the energy before and after it. */
const inShort = (changes: readonly DayChange[]) =>
  changes.map(({ kind, before, after }) => [kind, before?.energyWh ?? null, after.energyWh]);

type Short = [kind: string, beforeWh: number | null, afterWh: number | null];

test.each<[what: string, versions: Version[], changes: Short[], withProvisional: Short[]]>([
  [
    'becomes final',
    [
      [1, 10, 'provisional', 9],
      [2, 12, 'final', 11],
    ],
    [],
    [['provisional', 10, 12]],
  ],
  [
    'is restated',
    [
      [1, 10, 'final', 9],
      [2, 12, 'restated', 10],
    ],
    [['restated', 10, 12]],
    [['restated', 10, 12]],
  ],
  [
    'is restated later',
    [
      [1, 10, 'final', 9],
      [2, 12, 'restated', 14],
    ],
    [],
    [],
  ],
  ['was not known before it is final', [[1, 10, 'final', 11]], [['added', null, 10]], [['added', null, 10]]],
  ['begins', [[1, 10, 'provisional', 11]], [], []],
  [
    'is withdrawn',
    [
      [1, 10, 'final', 9],
      [2, null, 'restated', 11],
    ],
    [['withdrawn', 10, null]],
    [['withdrawn', 10, null]],
  ],
  [
    'comes back',
    [
      [1, null, 'final', 9],
      [2, 7, 'restated', 11],
    ],
    [['added', null, 7]],
    [['added', null, 7]],
  ],
  [
    'comes and goes',
    [
      [1, 10, 'final', 11],
      [2, null, 'restated', 12],
    ],
    [],
    [],
  ],
  [
    'becomes final and is restated',
    [
      [1, 10, 'provisional', 9],
      [2, 11, 'final', 11],
      [3, 12, 'restated', 12],
    ],
    [['restated', 11, 12]],
    [['restated', 10, 12]],
  ],
])('a day that %s', async (_, versions, changes, withProvisional) => {
  expect(inShort(await changesOf(versions))).toEqual(changes);
  expect(inShort(await changesOf(versions, true))).toEqual(withProvisional);
});

test('several versions are one change: from before the first to the last, with each cause once', async () => {
  const [change] = await changesOf([
    [1, 10, 'final', 9],
    [2, 12, 'restated', 11, 'stream import'],
    [3, 15, 'restated', 12, 'stream'],
  ]);
  expect(change).toMatchObject({
    ...{ kind: 'restated', differenceWh: 5, versions: 2, causes: ['import', 'stream'], batch: '103' },
    changedAt: '2026-11-20T12:00:00.000Z',
    before: { version: 1, energyWh: 10 },
    after: { version: 3, energyWh: 15, status: 'restated' },
  });
});

test('an answer has at most the rows that are asked for', async () => {
  const versions: Version[] = [
    [1, 10, 'final', 9],
    [2, 12, 'restated', 11],
  ];
  expect(await changesOf(versions, false, 1)).toHaveLength(1);
  expect(await changesOf(versions, false, 0)).toEqual([]);
});
