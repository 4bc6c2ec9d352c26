// The same rule as `csvCell` of the service (copy-rows.ts). A test compares both, so that a file of the page
// is equal to one of a report. csv-stringify guards only the beginning of a cell, and some spreadsheets
// divide cells again.
const FORMULA_STARTS = '=+@＝＋＠－-';
const insidePattern = new RegExp(`([;\t\r\n])([${FORMULA_STARTS}])`, 'g');
const startPattern = new RegExp(`^([\t\r\n${FORMULA_STARTS}])`);

/** A table as CSV (RFC 4180): a heading, then rows. Null is empty. */
export function csvText(
  heading: readonly string[],
  rows: ReadonlyArray<ReadonlyArray<string | number | null>>,
): string {
  return [heading, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? guarded(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Puts an apostrophe before each part of a text that a spreadsheet would read as a formula. */
function guarded(text: string): string {
  return text.replace(insidePattern, "$1'$2").replace(startPattern, "'$1");
}
