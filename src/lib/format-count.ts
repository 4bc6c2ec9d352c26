/** A number with separators between thousands: `12,345`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en');
}

/** A number with its noun, or with noun and verb: `1 row`, `12,345 rows`; `1 file is`, `2 files are`. */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
