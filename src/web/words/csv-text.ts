/** A table as CSV (RFC 4180): a heading, then rows. Null is empty. */
export function csvText(
  heading: readonly string[],
  rows: ReadonlyArray<ReadonlyArray<string | number | null>>,
): string {
  return [heading, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(value: string | number | null): string {
  if (value === null) return '';
  // Spreadsheets run a text that begins with one of these as a formula.
  const text = typeof value === 'string' && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
