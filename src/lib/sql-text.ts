/** Text as a literal of SQL: nothing in it can end it. @throws RangeError for a zero byte, which DuckDB takes in no literal */
export function sqlString(text: string): string {
  if (text.includes('\0')) throw new RangeError('a text with a zero byte is no literal of SQL');
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as an identifier of SQL, whatever is in it. @throws RangeError for a zero byte */
export function sqlName(name: string): string {
  if (name.includes('\0')) throw new RangeError('a name with a zero byte is no identifier of SQL');
  return `"${name.replaceAll('"', '""')}"`;
}
