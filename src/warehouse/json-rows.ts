/** DuckDB types by column; a type in a list is the type of the list's items. */
type RowColumns = Readonly<Record<string, string | readonly [string]>>;

/** SQL that reads a parameter (a JSON array of objects) as a table. */
export function jsonRowsSql(parameter: string, columns: RowColumns): string {
  return `SELECT unnest(from_json($${parameter}, '${JSON.stringify([columns])}'), recursive := true)`;
}
