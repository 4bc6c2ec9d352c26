import { DataTable, type TableColumn } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { type BarColumn, type BarSeries, isEmpty, totalOf } from '../pictures/bar-data.ts';
import { energyUnit, type Unit } from '../words/number-words.ts';

/** The values of a picture as a table, and as a file with whole Wh. */
export function EnergyTable(props: {
  series: readonly BarSeries[];
  columns: readonly BarColumn[];
  fileName: string;
  zone: string;
}) {
  const { series, columns, fileName, zone } = props;
  const filledColumns = columns.filter((column) => !isEmpty(column));
  const unit = energyUnit(
    Math.max(0, ...filledColumns.flatMap(({ values }) => values.map((wh) => Math.abs(wh ?? 0)))),
  );
  const isOneSided = series.every(({ side }) => side === series[0]!.side) && series.length > 1;
  const tableColumns: Array<TableColumn<BarColumn>> = [
    {
      title: 'Period',
      cell: ({ name, href }) => (href === undefined ? name : <a href={href}>{name}</a>),
    },
    ...series.map(({ name }, index) => ({
      title: name,
      isNumber: true,
      cell: ({ values }: BarColumn) => <EnergyAmount wh={values[index]} unit={unit} />,
      sum: <SumAmount wh={sumOf(filledColumns.map(({ values }) => values[index] ?? null))} unit={unit} />,
    })),
    ...(isOneSided
      ? [
          {
            title: 'Sum',
            isNumber: true,
            cell: (column: BarColumn) => <EnergyAmount wh={totalOf(column, series)} unit={unit} />,
            sum: <SumAmount wh={sumOf(filledColumns.map((column) => totalOf(column, series)))} unit={unit} />,
          },
        ]
      : []),
    {
      title: 'Quality',
      cell: ({ notes, state }) => (state === 'missing' ? notes[0] : notes.slice(1).join(', ')),
    },
  ];
  return (
    <DataTable
      caption={`Energy, days of ${zone}`}
      columns={tableColumns}
      rows={filledColumns}
      keyOf={({ key }) => key}
      file={{
        name: fileName,
        heading: ['period', ...series.map(({ name }) => `${name} (Wh)`), 'quality'],
        row: ({ key, values, notes }) => [key, ...values, notes.slice(1).join('; ')],
      }}
    />
  );
}

/** A sum is not in a smaller unit than the values above it. */
function SumAmount({ wh, unit }: { wh: number | null; unit: Unit }) {
  return <EnergyAmount wh={wh} unit={wh !== null && Math.abs(wh) >= unit.size ? energyUnit(wh) : unit} />;
}

/** Null if nothing is known. */
function sumOf(values: ReadonlyArray<number | null>): number | null {
  const known = values.filter((wh) => wh !== null);
  return known.length === 0 ? null : known.reduce((sum, wh) => sum + wh, 0);
}
