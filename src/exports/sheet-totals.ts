import type { DuckDBConnection } from '@duckdb/node-api';
import { type ColumnName, columnType } from '../report/rows/row-columns.ts';
import type { RowShape } from '../report/rows/row-select.ts';
import { queryText } from '../warehouse/query.ts';

/**
 * The columns of the totals of a sheet. There is one total for each device, source or meter, because a sum
 * over different kinds of them would have no meaning.
 */
export interface TotalColumns {
  keys: readonly ColumnName[];
  energies: readonly ColumnName[];
}

export interface TotalRow {
  keys: Partial<Record<ColumnName, string | null>>;
  /** The number of rows with energy. */
  count: number;
  /** Sums in Wh. Null if no row has energy. */
  sumsWh: Partial<Record<ColumnName, number | null>>;
}

/** The columns by which the rows of a report are added up, with the names of devices and meters. */
export function totalColumnsOf({
  columns,
  key,
  energies,
}: Pick<RowShape, 'columns' | 'key' | 'energies'>): TotalColumns {
  const isText = (name: ColumnName) => ['UUID', 'VARCHAR'].includes(columnType(name).sql);
  const texts = key.filter(isText);
  const names = (['device_name', 'meter_name'] as const).filter((name) => columns.includes(name));
  return { keys: columns.filter((name) => texts.includes(name) || names.includes(name as never)), energies };
}

/** Adds up the rows of a Parquet file. */
export async function readTotals(
  connection: DuckDBConnection,
  { keys, energies }: TotalColumns,
  rowsPath: string,
): Promise<TotalRow[]> {
  const texts = keys.map((name) => `${name}::VARCHAR AS ${name}`);
  const sums = energies.map((name) => `sum(${name})::DOUBLE AS ${name}`);
  const rows = await queryText<Record<string, string | number | null>>(
    connection,
    `SELECT ${[...texts, `count(${energies[0]})::DOUBLE AS row_count`, ...sums].join(', ')} FROM read_parquet($path) GROUP BY ALL ORDER BY ALL`,
    { path: rowsPath },
  );
  return rows.map((row) => ({
    keys: Object.fromEntries(keys.map((name) => [name, row[name] as string | null])),
    count: Number(row.row_count),
    sumsWh: Object.fromEntries(energies.map((name) => [name, row[name] as number | null])),
  }));
}
