import type { WorkgroupConfig } from '../config/config.ts';
import { addDays, firstDayOfMonth, localDateOf, type UtcMs } from '../lib/time.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { siteVariance } from '../report/site-report.ts';
import type { AlertFacts } from './alert-facts.ts';

/** Sites are few, but a configuration can have many. */
const BUDGET_SITES_MAX = 100;

/**
 * Compares the sites of a workgroup with their budgets, from the first of the month to yesterday. Only days
 * with energy and a budget count. On the first of a month it is the month before.
 * @throws errors of the lake
 */
export async function readBudgets(
  lake: LakeReader,
  workgroup: WorkgroupConfig,
  nowMs: UtcMs,
): Promise<NonNullable<AlertFacts['budgets']>> {
  const generation = await lake.newestGeneration(workgroup.id);
  if (!generation) return [];
  const today = localDateOf(nowMs, workgroup.timezone);
  const endDay = addDays(today, -1);
  const range = { startDay: firstDayOfMonth(endDay), endDay };
  const sites = workgroup.sites.filter(({ meters }) => meters.length > 0).slice(0, BUDGET_SITES_MAX);
  const budgets: Array<NonNullable<AlertFacts['budgets']>[number]> = [];
  for (const site of sites) {
    const question = { workgroup, site, zone: workgroup.timezone, generation, ...range };
    const read = await siteVariance(question, { scenario: undefined, today }).read(lake);
    const { actualWh, budgetWh } = read(range).total;
    budgets.push({ site: site.name, month: endDay.slice(0, 7), actualWh, budgetWh });
  }
  return budgets;
}
