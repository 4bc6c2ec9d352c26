import type { View } from './lake-view.ts';
import { device, direction, energy, isCurrent, meterCode, revision, source } from './view-columns.ts';

/** Views of meters, sites and budgets. */
export const meterViews: readonly View[] = [
  {
    name: 'meter',
    dataset: 'meter',
    comment: 'The configured meters of the workgroup',
    columns: [
      meterCode,
      { name: 'name', type: 'VARCHAR', comment: 'Name, if configured' },
      direction,
      { ...device, comment: 'Device that measures it; null for uploaded readings' },
      { ...source, comment: 'Source of that device; null for the device as a whole' },
    ],
  },
  {
    name: 'meter_reading',
    dataset: 'meter_reading',
    comment:
      'All uploaded readings of meters, by intervals. Current readings of a meter do not overlap. Meters with a device have no rows',
    columns: [
      meterCode,
      { name: 'interval_start', type: 'TIMESTAMPTZ', comment: 'First instant of the interval' },
      { name: 'interval_end', type: 'TIMESTAMPTZ', comment: 'First instant after it' },
      {
        name: 'energy_wh',
        type: 'DOUBLE',
        comment: 'Energy, Wh; null if a register fell, because the energy is then unknown',
      },
      direction,
      {
        name: 'quality',
        type: 'VARCHAR',
        comment: 'measured, estimated or substituted, as uploaded; fault if a register fell',
      },
      revision,
      { name: 'received_at', type: 'TIMESTAMPTZ', comment: 'When it was uploaded' },
      isCurrent,
    ],
  },
  {
    name: 'site_member',
    dataset: 'site_member',
    comment: 'Members of the configured sites: their meters, and the devices that measure the same energy',
    columns: [
      { name: 'site', type: 'VARCHAR', comment: 'Name of the site' },
      { ...meterCode, comment: 'Meter; null if the member is a device' },
      { ...device, comment: 'Device; null if the member is a meter' },
      { ...source, comment: 'Source of that device; null for the device as a whole' },
      { name: 'sign', type: 'INTEGER', comment: '1 if its energy is added, -1 if it is subtracted' },
      {
        name: 'valid_from',
        type: 'DATE',
        comment: 'First local day of the membership; null if unlimited',
      },
      { name: 'valid_to', type: 'DATE', comment: 'Last local day, included; null if unlimited' },
    ],
  },
  {
    name: 'budget',
    dataset: 'budget',
    comment:
      'All uploaded budgets, by periods of local days. Periods of different lengths can contain each other, such as a year and its months',
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
