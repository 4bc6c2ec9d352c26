import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Reconciliation, Variance } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { DataTable } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactPercent } from '../parts/exact-number.tsx';
import type { ShownPeriod } from '../words/periods.ts';
import { longDay } from '../words/time-words.ts';

/** The energy and the budget of each day of a site. */
export function BudgetTable({ variance, period }: { variance: Variance; period: ShownPeriod }) {
  const { workgroup } = useContext(PageWorkContext);
  const { total } = variance;
  return (
    <DataTable
      caption="Actual energy and budget"
      rows={Object.entries(variance.days)}
      keyOf={([day]) => day}
      columns={[
        { title: 'Day', cell: ([day]) => longDay(day) },
        {
          title: 'Actual',
          isNumber: true,
          cell: ([, { actualWh }]) => <EnergyAmount wh={actualWh} />,
          sum: <EnergyAmount wh={total.actualWh} />,
        },
        {
          title: 'Budget',
          isNumber: true,
          cell: ([, { budgetWh }]) => <EnergyAmount wh={budgetWh} />,
          sum: <EnergyAmount wh={total.budgetWh} />,
        },
        {
          title: 'Difference',
          isNumber: true,
          cell: ([, { varianceWh }]) => <EnergyAmount wh={varianceWh} />,
          sum: <EnergyAmount wh={total.varianceWh} />,
        },
        {
          title: 'Percent',
          isNumber: true,
          cell: ([, { variancePercent }]) => <ExactPercent percent={variancePercent} />,
        },
        {
          title: 'Note',
          cell: ([, { partial, scenarios }]) =>
            [partial && 'partly measured', ...scenarios].filter(Boolean).join(', '),
        },
      ]}
      file={{
        name: `${workgroup.id}-${variance.site}-budget-${period.from}-${period.to}.csv`,
        heading: ['day', 'actual_wh', 'budget_wh', 'difference_wh', 'percent', 'scenarios'],
        row: ([day, energy]) => [
          day,
          energy.actualWh,
          energy.budgetWh,
          energy.varianceWh,
          energy.variancePercent,
          energy.scenarios.join(' '),
        ],
      }}
    />
  );
}

/** The meters and the devices of a site on each day. */
export function ReconciliationTable(props: {
  answer: Reconciliation;
  site: string;
  /** The first and the last day. */
  from: string;
  to: string;
}) {
  const { answer, site, from, to } = props;
  const { workgroup } = useContext(PageWorkContext);
  const { total, days } = answer;
  return (
    <DataTable
      caption="Meters against devices"
      rows={Object.entries(days)}
      keyOf={([day]) => day}
      columns={[
        {
          title: 'Day',
          cell: ([day]) => <a href={linkTo(workgroup.id, 'day', { day })}>{longDay(day)}</a>,
        },
        {
          title: 'Meters',
          isNumber: true,
          cell: ([, { metersWh }]) => <EnergyAmount wh={metersWh} />,
          sum: <EnergyAmount wh={total.metersWh} />,
        },
        {
          title: 'Devices',
          isNumber: true,
          cell: ([, { devicesWh }]) => <EnergyAmount wh={devicesWh} />,
          sum: <EnergyAmount wh={total.devicesWh} />,
        },
        {
          title: 'Difference',
          isNumber: true,
          cell: ([, { differenceWh }]) => <EnergyAmount wh={differenceWh} />,
          sum: <EnergyAmount wh={total.differenceWh} />,
        },
        {
          title: 'Percent',
          isNumber: true,
          cell: ([, { differencePercent }]) => <ExactPercent percent={differencePercent} />,
        },
        {
          title: 'Note',
          cell: ([, { estimated }]) => (estimated ? 'contains an estimate' : ''),
        },
      ]}
      file={{
        name: `${workgroup.id}-${site}-reconciliation-${from}-${to}.csv`,
        heading: ['day', 'meters_wh', 'devices_wh', 'difference_wh', 'percent'],
        row: ([day, energy]) => [
          day,
          energy.metersWh,
          energy.devicesWh,
          energy.differenceWh,
          energy.differencePercent,
        ],
      }}
    />
  );
}
