import { fileOfRows, qualityOfRow, rowsOfColumns, unitOfSum } from '../facts/rows-of-columns.ts';
import { DataTable, type TableColumn } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { type BarColumn, type BarSeries, totalOf } from '../pictures/bar-data.ts';

/** The values of a picture as a table, and as a file with whole Wh. */
export function EnergyTable(props: {
  series: BarSeries[];
  columns: BarColumn[];
  fileName: string;
  zone: string;
}) {
  const { series, columns, fileName, zone } = props;
  const { rows, unit, sums, whole } = rowsOfColumns({ series, columns });
  const sumAmount = (wh: number | null) => <EnergyAmount wh={wh} unit={unitOfSum(wh, unit)} />;
  const tableColumns: Array<TableColumn<BarColumn>> = [
    {
      title: 'Period',
      cell: ({ name, href }) => (href === undefined ? name : <a href={href}>{name}</a>),
    },
    ...series.map(({ name }, index) => ({
      title: name,
      isNumber: true,
      cell: ({ values }: BarColumn) => <EnergyAmount wh={values[index]} unit={unit} />,
      sum: sumAmount(sums[index]!),
    })),
    ...(whole === undefined
      ? []
      : [
          {
            title: 'Sum',
            isNumber: true,
            cell: (column: BarColumn) => <EnergyAmount wh={totalOf(column, series)} unit={unit} />,
            sum: sumAmount(whole),
          },
        ]),
    { title: 'Quality', cell: qualityOfRow },
  ];
  return (
    <DataTable
      caption={`Energy, days of ${zone}`}
      columns={tableColumns}
      rows={rows}
      keyOf={({ key }) => key}
      file={{ name: fileName, ...fileOfRows(series) }}
    />
  );
}
