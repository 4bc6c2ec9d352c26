/** Text as an SQL literal. @throws RangeError for a zero byte, which DuckDB does not accept */
export function sqlString(text: string): string {
  if (text.includes('\0')) throw new RangeError('a text with a zero byte cannot be an SQL literal');
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as an SQL identifier. @throws RangeError for a zero byte */
export function sqlName(name: string): string {
  if (name.includes('\0')) throw new RangeError('a name with a zero byte cannot be an SQL identifier');
  return `"${name.replaceAll('"', '""')}"`;
}
