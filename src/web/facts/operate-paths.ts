/** The paths of what an operator can do, below the workgroup. */
export const operatePaths = {
  planBackfill: 'backfills?dryRun=true',
  startBackfill: 'backfills',
  cancelBackfill: (id: number) => `backfills/${id}/cancel`,
  retryQuarantine: 'quarantine/retry',
  runExport: (id: string) => `exports/${encodeURIComponent(id)}/runs`,
} as const;
