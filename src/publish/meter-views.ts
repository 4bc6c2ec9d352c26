import type { View } from './view.ts';
import { device, direction, energy, isCurrent, meterCode, revision, source } from './view-columns.ts';

/** Views of meters, sites and budgets. */
export const meterViews: readonly View[] = [
  {
    name: 'meter',
    dataset: 'meter',
    glob: '*.parquet',
    hive: false,
    comment: 'The meters that are configured',
    columns: [
      meterCode,
      { name: 'name', type: 'VARCHAR', comment: 'What people call it, where it has a name' },
      direction,
      { ...device, comment: 'Device whose telemetry its readings are; null where readings are uploaded' },
      { ...source, comment: 'Source of that device; null for the device as a whole' },
    ],
  },
  {
    name: 'meter_reading',
    dataset: 'meter_reading',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Every reading of a meter that was ever uploaded, by intervals; those of a meter that are current do not overlap. Meters whose readings are those of a device have none here',
    columns: [
      meterCode,
      { name: 'interval_start', type: 'TIMESTAMPTZ', comment: 'First instant of the interval' },
      { name: 'interval_end', type: 'TIMESTAMPTZ', comment: 'First instant after it' },
      {
        name: 'energy_wh',
        type: 'DOUBLE',
        comment: 'Energy, Wh; null where a register fell, so that nobody knows',
      },
      direction,
      {
        name: 'quality',
        type: 'VARCHAR',
        comment: 'measured, estimated or substituted, as uploaded; fault where a register fell',
      },
      revision,
      { name: 'received_at', type: 'TIMESTAMPTZ', comment: 'When it was uploaded' },
      isCurrent,
    ],
  },
  {
    name: 'site_member',
    dataset: 'site_member',
    glob: '*.parquet',
    hive: false,
    comment:
      'What the sites that are configured consist of: their meters, and the devices that measure the same energy',
    columns: [
      { name: 'site', type: 'VARCHAR', comment: 'Name of the site' },
      { ...meterCode, comment: 'Meter; null where the member is a device' },
      { ...device, comment: 'Device; null where the member is a meter' },
      { ...source, comment: 'Source of that device; null for the device as a whole' },
      { name: 'sign', type: 'INTEGER', comment: 'Whether its energy is added (1) or taken away (-1)' },
      {
        name: 'valid_from',
        type: 'DATE',
        comment: 'First local day on which it is a member; null for ever before',
      },
      { name: 'valid_to', type: 'DATE', comment: 'Last local day, included; null for ever after' },
    ],
  },
  {
    name: 'budget',
    dataset: 'budget',
    glob: '*.parquet',
    hive: false,
    comment:
      'Every budget that was ever uploaded, by periods of local days. Periods of several lengths may lie in one another, such as a year and its months',
    columns: [
      meterCode,
      { name: 'period_start', type: 'DATE', comment: 'First local day' },
      { name: 'period_end', type: 'DATE', comment: 'Last local day, included' },
      { ...energy, comment: 'Energy of the whole period, Wh' },
      { name: 'scenario', type: 'VARCHAR', comment: 'Such as P50, P90, contract or reforecast' },
      revision,
      { name: 'uploaded_at', type: 'TIMESTAMPTZ', comment: 'When it was uploaded' },
      isCurrent,
    ],
  },
];
