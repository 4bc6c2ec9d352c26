import type { LocalDate } from '../time.ts';
import { queryText } from '../warehouse/query.ts';
import { loadSql } from '../warehouse/sql.ts';
import type { Generation, LakeReader } from './lake.ts';
import type { DaysSource } from './meter-days.ts';
import { knownText } from './meter-request.ts';
import { invalid, quote } from './request.ts';

/** What is asked for where nobody says it, where there are several. */
const PREFERRED = ['contract', 'P50'] as const;

/** Days of the budget of a scenario as "meter_day"; see sql/report/budget-days. */
export function budgetDays(
  generation: Generation | undefined,
  { startDay, endDay, codes }: { startDay: LocalDate; endDay: LocalDate; codes: readonly string[] },
  scenario: string | undefined,
): DaysSource {
  const files = generation?.files('budget') ?? [];
  if (!generation || files.length === 0 || scenario === undefined) return { files, statements: undefined };
  return {
    files,
    statements: {
      sql: `WITH meter_day AS (\n${loadSql('report/budget-days')})\n`,
      parameters: {
        budget_files: files.map(generation.path),
        codes,
        start_day: startDay,
        end_day: endDay,
        scenario,
      },
    },
  };
}

/**
 * The scenario that is meant, of those that there are budgets of for these meters.
 * @returns undefined where nobody asks for one and there is none
 * @throws StreamError InvalidRequest where it is not known, or where there are several and none of them is usual
 */
export async function chooseScenario(
  lake: LakeReader,
  generation: Generation | undefined,
  codes: readonly string[],
  asked: string | undefined,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const files = generation?.files('budget') ?? [];
  const found =
    files.length === 0
      ? []
      : await lake.run(
          (connection) =>
            queryText<{ scenario: string }>(connection, loadSql('report/scenarios'), {
              budget_files: files.map(generation!.path),
              codes,
            }),
          signal,
        );
  const known = found.map(({ scenario }) => scenario);
  if (asked === undefined) {
    const usual = known.length === 1 ? known[0] : PREFERRED.find((name) => known.includes(name));
    if (usual === undefined && known.length > 0)
      throw invalid('scenario', `say which one; ${knownText('scenarios', known)}`);
    return usual;
  }
  const chosen =
    known.find((name) => name === asked) ?? known.find((name) => name.toLowerCase() === asked.toLowerCase());
  if (chosen === undefined)
    throw invalid('scenario', `no budget has the scenario ${quote(asked)}; ${knownText('scenarios', known)}`);
  return chosen;
}
