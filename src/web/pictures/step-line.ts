import type { BarColumn } from './bar-data.ts';

/**
 * The references of the columns as a line with steps. The line is interrupted at columns without a reference.
 */
export function stepsOf(
  columns: ReadonlyArray<Pick<BarColumn, 'reference'>>,
  xOf: (index: number) => number,
  y: (value: number) => number,
): string {
  return columns
    .map(({ reference }, index) => {
      if (reference == null) return '';
      const begins = columns[index - 1]?.reference == null ? 'M' : 'L';
      const height = y(reference).toFixed(1);
      return `${begins}${xOf(index).toFixed(1)} ${height}H${xOf(index + 1).toFixed(1)}`;
    })
    .join('');
}
