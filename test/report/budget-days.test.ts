import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { budgetScenarios } from '../../src/config/meters.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A budget of the meter PV: scenario, period, Wh, hour of the upload, and whether it is replaced. */
type Budget = readonly [
  scenario: string,
  start: string,
  end: string,
  wh: number,
  hour?: number,
  replaced?: boolean,
];

async function read<Row extends Record<string, string | number>>(
  budgets: readonly Budget[],
  statement: string,
  parameters: SqlParameters,
): Promise<Row[]> {
  const path = join(tempDir(), 'budget.parquet');
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const rows = budgets.map(
    ([scenario, start, end, wh, hour = 0, replaced = false]) =>
      `('PV', '${scenario}', DATE '${start}', DATE '${end}', ${wh}, 1, TIMESTAMPTZ '2026-01-01T00:00:00Z' + INTERVAL ${hour} HOUR, ${!replaced})`,
  );
  await connection.run(`COPY (FROM (VALUES ${rows.join(', ')})
    AS row (meter_code, scenario, period_start, period_end, energy_wh, revision, uploaded_at, is_current))
    TO '${path}' (FORMAT parquet)`);
  const found = await queryText<Row>(connection, loadSql(statement), {
    budget_files: [path],
    codes: ['PV'],
    ...parameters,
  });
  connection.closeSync();
  instance.closeSync();
  return found;
}

/** The scenario and the Wh of a day. */
async function dayOf(budgets: readonly Budget[], scenario: string | null = null, day = '2026-05-10') {
  const range = { start_day: day, end_day: day };
  const found = await read<{ scenario: string; energy_wh: number }>(budgets, 'report/select_budget_days', {
    ...range,
    ...{ scenario, scenario_order: budgetScenarios },
  });
  return found.map((row) => `${row.scenario} ${row.energy_wh}`);
}

test('of two periods of the same length the newer upload counts, and of one upload the later period', async () => {
  const early: Budget = ['P50', '2026-05-01', '2026-05-10', 100, 1];
  const late: Budget = ['P50', '2026-05-10', '2026-05-19', 200, 0];
  expect(await dayOf([early, late])).toEqual(['P50 10']);
  expect(await dayOf([late, early])).toEqual(['P50 10']);
  expect(await dayOf([['P50', '2026-05-01', '2026-05-10', 100, 0], late])).toEqual(['P50 20']);
});

test('a scenario is found in any case, and the one that is written like it comes first', async () => {
  const budgets: Budget[] = [
    ['plan', '2026-05-01', '2026-05-10', 100],
    ['Plan', '2026-05-01', '2026-05-10', 200],
  ];
  expect(await dayOf(budgets, 'plan')).toEqual(['plan 10']);
  expect(await dayOf(budgets, 'Plan')).toEqual(['Plan 20']);
  // The scenario that sorts first.
  expect(await dayOf(budgets, 'PLAN')).toEqual(['Plan 20']);
  expect(await dayOf(budgets, 'other')).toEqual([]);
});

test('known scenarios come before other names, whatever the length of their periods', async () => {
  const year: Budget = ['P90', '2026-01-01', '2026-12-31', 3_650];
  expect(await dayOf([['A plan', '2026-05-10', '2026-05-10', 7], year])).toEqual(['P90 10']);
  expect(
    await dayOf([
      ['B', '2026-05-10', '2026-05-10', 7],
      ['A', '2026-05-01', '2026-05-31', 310],
    ]),
  ).toEqual(['A 10']);
});

test('both ends of a period are days of it, and a budget that is replaced counts no more', async () => {
  const budgets: Budget[] = [['P50', '2026-05-10', '2026-05-12', 10]];
  const days = ['2026-05-09', '2026-05-10', '2026-05-11', '2026-05-12', '2026-05-13'];
  expect(await Promise.all(days.map((day) => dayOf(budgets, null, day)))).toEqual([
    [],
    ['P50 3'],
    ['P50 4'],
    ['P50 3'],
    [],
  ]);
  const replaced: Budget = ['P90', '2026-05-10', '2026-05-12', 10, 0, true];
  expect(await dayOf([replaced])).toEqual([]);
  const scenarios = await read([...budgets, ...budgets, replaced], 'report/find_scenarios', {});
  expect(scenarios).toEqual([{ scenario: 'P50' }]);
});
