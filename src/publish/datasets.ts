import { withConstants } from '../rollup/rule-macros.ts';
import { loadSql } from '../warehouse/load-sql.ts';

/**
 * The datasets of the lake: folders of a generation, and the statement of their rows (`<select>`, in a
 * chapter of `sql/publish`).
 */
export const datasets = {
  messages: { select: 'publish/select_messages', energy: false },
  interval_energy: { select: 'publish/select_interval_energy', energy: true },
  daily_energy: { select: 'publish/select_daily_energy', energy: true },
  daily_energy_version: { select: 'publish/select_daily_energy_version', energy: false },
  device_status: { select: 'publish/select_device_status', energy: false },
  device_state: { select: 'publish/select_device_state', energy: false },
  quarantine: { select: 'publish/select_quarantine', energy: false },
  rejected_reading: { select: 'publish/select_rejected_readings', energy: false },
  gap: { select: 'publish/select_gap', energy: false },
  correction: { select: 'publish/select_correction', energy: false },
  device: { select: 'publish/select_device', energy: false },
  workgroup: { select: 'publish/select_workgroup', energy: false },
  device_source: { select: 'publish/select_device_source', energy: false },
  source_role: { select: 'publish/select_source_role', energy: false },
  peak_power: { select: 'publish/select_peak_power', energy: false },
  absent_role: { select: 'publish/select_absent_role', energy: false },
  local_day: { select: 'publish/select_local_day', energy: false },
  series: { select: 'publish/select_series', energy: false },
  quality_flag: { select: 'publish/select_quality_flag', energy: false },
  meter: { select: 'publish/select_meter', energy: false },
  meter_reading: { select: 'publish/select_meter_reading', energy: false },
  site_member: { select: 'publish/select_site_member', energy: false },
  budget: { select: 'publish/select_budget', energy: false },
} as const satisfies Record<string, { select: string; energy: boolean }>;

export type DatasetName = keyof typeof datasets;

/** The statement of the rows of a dataset, with the constants of the energy rules as numbers. */
export function selectOf(dataset: DatasetName): string {
  return withConstants(loadSql(datasets[dataset].select));
}

/**
 * Small datasets whose rows follow from the configuration, the devices and the range of days. Only they read
 * the temporary tables of `declareData`.
 */
const declaredDatasets = [
  'device',
  'workgroup',
  'device_source',
  'source_role',
  'peak_power',
  'absent_role',
  'local_day',
  'meter',
  'site_member',
] as const satisfies readonly DatasetName[];

/** Small datasets whose rows follow from other data. */
export const computedDatasets = [
  'gap',
  'correction',
  'series',
  'quality_flag',
  'device_state',
  'budget',
] as const satisfies readonly DatasetName[];

/** Small datasets that are written as a whole after each change. */
export const wholeDatasets = [...declaredDatasets, ...computedDatasets] as const;
