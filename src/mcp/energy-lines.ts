import type { LocalDate } from '../lib/time.ts';
import type { AnsweredRow, BudgetData, MeterData } from '../report-client/client-answers.ts';
import { energyText, measuredShareText } from './mcp-words.ts';

/** The rows of daily energy in words: each device on each day, even if its energy is unknown. */
export function dayLines(
  rows: readonly AnsweredRow[],
  days: readonly LocalDate[],
  devices: ReadonlyMap<string, string>,
): string[] {
  const found = new Map(rows.map((row) => [`${row.day} ${row.device}`, row]));
  return days.flatMap((day) =>
    [...devices].map(([device, name]) => {
      const row = found.get(`${day} ${device}`);
      if (typeof row?.energy_wh !== 'number') return `${day} ${name}: the energy is unknown`;
      const flags = flagsOf(row);
      return `${day} ${name}: ${energyText(row.energy_wh)} (${row.status}, ${measuredShareText(row.coverage)}${flags && `, flags: ${flags}`})`;
    }),
  );
}

/** The rows of months or years. A sum says of how many days it is. */
export function periodLines(rows: readonly AnsweredRow[]): string[] {
  return rows.map(
    ({ period, device, device_name: name, energy_wh: wh, days }) =>
      `${period} ${name ?? device}: ${energyText(wh)} on the ${dayCount(days)} whose energy is known`,
  );
}

/** The quality of each device over a range. */
export function qualityLines(
  rows: readonly AnsweredRow[],
  days: readonly LocalDate[],
  devices: ReadonlyMap<string, string>,
): string[] {
  return [...devices].map(([device, name]) => {
    const own = rows.filter((row) => row.device === device && typeof row.energy_wh === 'number');
    const lowest = Math.min(...own.map(({ coverage }) => (typeof coverage === 'number' ? coverage : 0)));
    const flags = new Map<string, number>();
    for (const row of own)
      for (const flag of flagsOf(row).split(', ').filter(Boolean))
        flags.set(flag, (flags.get(flag) ?? 0) + 1);
    const flagged = [...flags].map(([flag, count]) => `${flag} on ${dayCount(count)}`).join(', ');
    const known = `${name}: the energy of ${own.length} of ${dayCount(days.length)} is known`;
    return own.length === 0
      ? known
      : `${known}; on the worst of them ${measuredShareText(lowest)}; flags: ${flagged || 'none'}`;
  });
}

/** Budgets and measured energy of each meter, compared only on the days that have both. */
export function budgetLines(budgets: BudgetData, meters: MeterData): string[] {
  const codes = new Set(
    [...Object.values(budgets), ...Object.values(meters)].flatMap((day) => Object.keys(day)),
  );
  const days = Object.keys(budgets);
  return [...codes].sort().map((code) => {
    const planned = days.filter((day) => budgets[day]?.[code] !== undefined);
    const both = planned.filter((day) => meters[day]?.[code] !== undefined);
    const sum = (data: BudgetData, of: readonly string[]) =>
      of.length === 0 ? undefined : of.reduce((total, day) => total + data[day]![code]!, 0);
    const budget = `Meter ${code}: the budget of ${planned.length} of ${dayCount(days.length)} is ${energyText(sum(budgets, planned))}`;
    return both.length === 0
      ? `${budget}; the measured energy of these days is unknown`
      : `${budget}; on the ${dayCount(both.length)} that are measured, ${energyText(sum(meters, both))} were measured and ${energyText(sum(budgets, both))} planned`;
  });
}

function dayCount(days: unknown): string {
  return days === 1 ? '1 day' : `${days} days`;
}

/** Flags are a list or a text, by the format of the rows. */
function flagsOf({ flags }: AnsweredRow): string {
  return Array.isArray(flags) ? (flags as string[]).join(', ') : String(flags ?? '');
}
