import { budgetScenarios } from '../config/meters.ts';
import type { LocalDate } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryText } from '../warehouse/query.ts';
import { invalid, quote } from './day-request.ts';
import { knownText } from './known-names.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import type { DaysSource } from './meter-days.ts';

/**
 * Days of budgets as "meter_day"; see report/select_budget_days.
 * @param scenario the only scenario to use. Without it each meter has on each day a scenario that does not
 *   depend on other meters
 */
export function budgetDays(
  generation: Generation | undefined,
  { startDay, endDay, codes }: { startDay: LocalDate; endDay: LocalDate; codes: readonly string[] },
  scenario: string | undefined,
): DaysSource {
  const files = generation?.files('budget') ?? [];
  if (!generation || files.length === 0) return { files, statements: undefined };
  return {
    files,
    statements: {
      reads: { generation, files },
      sql: `WITH meter_day AS (\n${loadSql('report/select_budget_days')})\n`,
      parameters: {
        budget_files: files.map(generation.path),
        codes,
        start_day: startDay,
        end_day: endDay,
        scenario: scenario ?? null,
        scenario_order: budgetScenarios,
      },
    },
  };
}

/**
 * Refuses a scenario that none of these meters has, because it is probably a typing error. Capital and small
 * letters count as equal.
 * @throws StreamError InvalidRequest that names the scenarios of these meters
 */
export async function checkScenario(
  lake: LakeReader,
  generation: Generation | undefined,
  codes: readonly string[],
  asked: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (asked === undefined) return;
  const files = generation?.files('budget') ?? [];
  const rows =
    !generation || files.length === 0
      ? []
      : await lake.run(
          { generation, files },
          (connection) =>
            queryText<{ scenario: string }>(connection, loadSql('report/find_scenarios'), {
              budget_files: files.map(generation.path),
              codes,
            }),
          signal,
        );
  const known = rows.map(({ scenario }) => scenario);
  if (known.some((name) => name.toLowerCase() === asked.toLowerCase())) return;
  throw invalid(
    'scenario',
    `no budget of these meters has the scenario ${quote(asked)}; ${knownText('scenarios', known)}`,
  );
}
