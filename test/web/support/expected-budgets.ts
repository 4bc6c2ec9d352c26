import type { DeviceStatuses, Reconciliation, Variance } from '../../../src/web/facts/answers.ts';
import { amount, type Column, energyNote, figureLines, row, withBeginning } from './expected-figure.ts';
import { ask } from './open-page.ts';
import { daysFrom, type Facts, namerOf } from './page-facts.ts';
import { energy, longDay, many } from './plain-words.ts';

/** The page of budgets: the days of one site, all of them over. */
export async function budgetLines(
  id: string,
  site: string,
  span: { from: string; to: string },
  name: string,
  _: Facts,
): Promise<string[]> {
  const range = `startDate=${span.from}&endDate=${span.to}`;
  const [variance, reconciliation, statuses] = await Promise.all([
    ask<Variance>(`${id}/sites/${site}/variance?${range}`),
    ask<Reconciliation>(`${id}/sites/${site}/reconciliation?${range}`),
    ask<DeviceStatuses>(`${id}/device-status`),
  ]);
  const { total, days, scenario } = variance;
  const all = daysFrom(span.from, span.to);
  const columns = withBeginning(
    all.map((day): Column => {
      const { actualWh, budgetWh, partial } = days[day]!;
      return {
        name: longDay(day),
        values: [actualWh],
        isMissing: actualWh === null,
        notes: [
          actualWh === null ? 'no data' : energyNote(actualWh),
          budgetWh === null ? 'no budget' : `budget ${energy(budgetWh)}`,
          ...(partial ? ['only a part of the day is measured'] : []),
        ],
      };
    }),
  );
  const leftOut = all.flatMap((day) => {
    const { actualWh, budgetWh, partial } = days[day]!;
    if (budgetWh === null) return [`${longDay(day)}: there is no budget for it`];
    if (actualWh === null) return [`${longDay(day)}: a meter has no energy`];
    return partial ? [`${longDay(day)}: only a part of the day is measured; it counts as far as it is`] : [];
  });
  const knownActual = sumOf(all.map((day) => days[day]!.actualWh));
  const { total: sums, days: ofDays, incompleteDays } = reconciliation;
  const nameOf = namerOf(statuses);
  return [
    name,
    `{${total.actualWh}} of {${total.budgetWh}} in ${name}: {${total.variancePercent}} the budget (${scenario}). ${leftOut.length > 0 ? `${many(leftOut.length, 'day')} to look at.` : ''}`,
    ...figureLines({
      label: `Actual energy and budget, ${name}`,
      wholeName: name,
      whole: knownActual,
      reference: ['Budget', sumOf(all.map((day) => days[day]!.budgetWh))],
      legend: ['Actual'],
      columns,
    }),
    `Actual {${total.actualWh}}Line: budget of the past days {${total.budgetToDateWh}}Budget of all days {${total.budgetOfAllDaysWh}}`,
    ...leftOut,
    ...all.map((day) => {
      const { actualWh, budgetWh, varianceWh, variancePercent, partial, scenarios } = days[day]!;
      return row(
        longDay(day),
        ...[actualWh, budgetWh, varianceWh, variancePercent].map(amount),
        [partial && 'partly measured', ...scenarios].filter(Boolean).join(', '),
      );
    }),
    row('Sum', ...[total.actualWh, total.budgetWh, total.varianceWh].map(amount), '', ''),
    `The meters have {${sums.metersWh}}, the devices {${sums.devicesWh}}: a difference of {${sums.differenceWh}} ({${sums.differencePercent}}) over ${sums.completeDays} of ${many(sums.days, 'day')}.`,
    ...Object.entries(incompleteDays).map(
      ([day, missing]) =>
        `${longDay(day)}: ${missing
          .map(({ meter, device, source, reason }) => {
            const of = meter ?? (device && [nameOf(device), source].filter(Boolean).join(' · '));
            return of ? `${of}: ${reason}` : reason;
          })
          .join('; ')}`,
    ),
    ...Object.entries(ofDays).map(([day, one]) =>
      row(
        longDay(day),
        ...[one.metersWh, one.devicesWh, one.differenceWh, one.differencePercent].map(amount),
        one.estimated ? 'contains an estimate' : '',
      ),
    ),
    row('Sum', ...[sums.metersWh, sums.devicesWh, sums.differenceWh].map(amount), '', ''),
  ];
}

function sumOf(values: ReadonlyArray<number | null>): number | null {
  const known = values.filter((wh) => wh !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}
