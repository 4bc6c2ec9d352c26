/** The paths of what an operator can do, below the workgroup. */
export const operatePaths = {
  previewBackfill: 'backfills/preview',
  startBackfill: 'backfills',
  backfill: (id: number) => `backfills/${id}`,
  retryQuarantine: 'quarantine/retry',
  runExport: (id: string) => `exports/${encodeURIComponent(id)}/run`,
} as const;
