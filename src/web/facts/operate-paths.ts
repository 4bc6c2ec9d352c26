/** The paths of what an operator can do, below the workgroup. */
export const operatePaths = {
  previewBackfill: 'backfills/preview',
  startBackfill: 'backfills',
  backfill: (id: number) => `backfills/${id}`,
  retryQuarantine: 'quarantine/retry',
  seeAlerts: 'alerts/seen',
  snoozeAlerts: 'alerts/snooze',
  runExport: (id: string) => `exports/${encodeURIComponent(id)}/run`,
} as const;
