/** Bytes as MB with one decimal: `1,234.5`. */
export function formatMegabytes(bytes: number): string {
  return (bytes / 1e6).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
