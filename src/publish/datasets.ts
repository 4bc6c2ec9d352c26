/** The datasets of the lake: the folders below a generation, and the SQL (`sql/publish/<select>.sql`) that fills them. */
export const datasets = {
  messages: { select: 'publish/messages', energy: false },
  interval_energy: { select: 'publish/interval-energy', energy: true },
  daily_energy: { select: 'publish/daily-energy', energy: true },
  daily_energy_version: { select: 'publish/daily-energy-version', energy: false },
  device_status: { select: 'publish/device-status', energy: false },
  device_state: { select: 'publish/device-state', energy: false },
  quarantine: { select: 'publish/quarantine', energy: false },
  rejected_reading: { select: 'publish/rejected-reading', energy: false },
  gap: { select: 'publish/gap', energy: false },
  device_source: { select: 'publish/device-source', energy: false },
  source_role: { select: 'publish/source-role', energy: false },
  peak_power: { select: 'publish/peak-power', energy: false },
  absent_role: { select: 'publish/absent-role', energy: false },
  local_day: { select: 'publish/local-day', energy: false },
  series: { select: 'publish/series', energy: false },
  quality_flag: { select: 'publish/quality-flag', energy: false },
  meter: { select: 'publish/meter', energy: false },
  meter_reading: { select: 'publish/meter-reading', energy: false },
  site_member: { select: 'publish/site-member', energy: false },
  budget: { select: 'publish/budget', energy: false },
} as const satisfies Record<string, { select: string; energy: boolean }>;

export type DatasetName = keyof typeof datasets;

/** Small datasets that are written whole whenever they have changed. */
export const wholeDatasets = [
  'gap',
  'device_source',
  'source_role',
  'peak_power',
  'absent_role',
  'local_day',
  'series',
  'quality_flag',
  'device_state',
  'meter',
  'site_member',
  'budget',
] as const satisfies readonly DatasetName[];
