/** Bytes as MB with one decimal: `1,234.5`. */
export function formatMegabytes(bytes: number): string {
  return (bytes / 1e6).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** An instant as `2026-11-22 18:00:00Z`. */
export function formatMoment(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d{3}Z$/, 'Z');
}
