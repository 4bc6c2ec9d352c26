import type { DeviceStatuses, Reconciliation, Variance } from '../../../src/web/facts/answers.ts';
import { amount, type Column, energyNote, figureLines, row, withBeginning } from './expected-figure.ts';
import { ask } from './open-page.ts';
import { daysFrom, type Facts, namerOf, shift } from './page-facts.ts';
import { energy, longDay, many, period } from './plain-words.ts';

/** The page of budgets: the days of one site, which can go on after today. */
export async function budgetLines(
  id: string,
  site: string,
  span: { from: string; to: string },
  { today }: Facts,
): Promise<string[]> {
  const range = `startDate=${span.from}&endDate=${span.to}`;
  const last = [span.to, shift(today, -1)].sort()[0];
  const [variance, reconciliation, statuses] = await Promise.all([
    ask<Variance>(`${id}/sites/${site}/variance?${range}`),
    ask<Reconciliation>(`${id}/sites/${site}/reconciliation?startDate=${span.from}&endDate=${last}`),
    ask<DeviceStatuses>(`${id}/device-status`),
  ]);
  const { total, days, scenario } = variance;
  const all = daysFrom(span.from, span.to);
  const columns = withBeginning(
    all.map((day): Column => {
      const { actualWh, budgetWh, partial } = days[day]!;
      const isFuture = actualWh === null && day >= today;
      return {
        name: longDay(day),
        values: [actualWh],
        isMissing: actualWh === null && !isFuture,
        isEmpty: isFuture,
        notes: [
          actualWh === null ? (isFuture ? 'not known yet' : 'no data') : energyNote(actualWh),
          budgetWh === null ? 'no budget' : `budget ${energy(budgetWh)}`,
          ...(partial ? ['only a part of the day is measured'] : []),
        ],
      };
    }),
  );
  const leftOut = all.flatMap((day) => {
    if (day >= today) return [];
    const { actualWh, budgetWh, partial } = days[day]!;
    if (budgetWh === null) return [`${longDay(day)}: there is no budget for it`];
    if (actualWh === null) return [`${longDay(day)}: a meter has no energy`];
    return partial ? [`${longDay(day)}: only a part of the day is measured; it counts as far as it is`] : [];
  });
  const knownActual = sumOf(all.map((day) => days[day]!.actualWh));
  const { total: sums, days: ofDays, incompleteDays } = reconciliation;
  const name = period(span.from, span.to);
  const nameOf = namerOf(statuses);
  return [
    name,
    `{${total.actualWh}} of {${total.budgetWh}} in ${name}${span.to >= today ? ', up to yesterday' : ''}: {${total.variancePercent}} the budget (${scenario}). ${leftOut.length > 0 ? `${many(leftOut.length, 'day')} to look at.` : ''}`,
    ...figureLines({
      label: `Actual energy and budget, ${name}`,
      wholeName: `${name}${span.to >= today ? ', with today' : ''}`,
      whole: knownActual,
      reference: ['Budget', sumOf(all.map((day) => days[day]!.budgetWh))],
      legend: ['Actual'],
      columns,
    }),
    `Actual {${total.actualWh}}Line: budget of the past days {${total.budgetToDateWh}}Budget of all days {${total.budgetOfAllDaysWh}}`,
    ...shortened(leftOut),
    ...all.map((day) => {
      const { actualWh, budgetWh, varianceWh, variancePercent, partial, scenarios } = days[day]!;
      return row(
        longDay(day),
        ...[actualWh, budgetWh, varianceWh, variancePercent].map(amount),
        [partial && 'partly measured', ...scenarios].filter(Boolean).join(', '),
      );
    }),
    row('Sum', ...[total.actualWh, total.budgetWh, total.varianceWh].map(amount), '', ''),
    sums.completeDays === 0
      ? `None of ${many(sums.days, 'day')} is complete, so there is nothing to compare.`
      : `The meters have {${sums.metersWh}}, the devices {${sums.devicesWh}}: a difference of {${sums.differenceWh}} ({${sums.differencePercent}}) over ${sums.completeDays} of ${many(sums.days, 'day')}.`,
    ...shortened(
      Object.entries(incompleteDays).map(
        ([day, missing]) =>
          `${longDay(day)}: ${missing
            .map(({ meter, device, source, reason }) => {
              const of = meter ?? (device && [nameOf(device), source].filter(Boolean).join(' · '));
              return of ? `${of}: ${reason}` : reason;
            })
            .join('; ')}`,
      ),
    ),
    ...(sums.completeDays === 0
      ? []
      : [
          ...Object.entries(ofDays).map(([day, one]) =>
            row(
              longDay(day),
              ...[one.metersWh, one.devicesWh, one.differenceWh, one.differencePercent].map(amount),
              one.estimated ? 'contains an estimate' : '',
            ),
          ),
          row('Sum', ...[sums.metersWh, sums.devicesWh, sums.differenceWh].map(amount), '', ''),
        ]),
  ];
}

function sumOf(values: ReadonlyArray<number | null>): number | null {
  const known = values.filter((wh) => wh !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

/** The newest eight, the last one first. */
function shortened(lines: readonly string[]): string[] {
  const others = lines.length - 8;
  return [...lines.slice(-8).toReversed(), ...(others > 0 ? [`And ${many(others, 'earlier day')}.`] : [])];
}
