import type { Statistic } from '../../home-assistant/list-statistics.ts';
import { type Column, formatTable } from '../terminal/format-table.ts';

/** Statistics as a table. */
export function describeStatistics(statistics: readonly Statistic[], columnsMax: number): string {
  if (statistics.length === 0) return 'Home Assistant has no statistics with energy or power\n';
  const columns: Column<Statistic>[] = [
    { title: 'Statistic', value: ({ id }) => id },
    { title: 'Kind', value: ({ kind }) => kind },
    { title: 'Unit', value: ({ unit }) => unit },
    { title: 'Name', value: ({ name }) => name ?? '' },
  ];
  return formatTable(columns, statistics, columnsMax);
}
