import { deviceDays } from './device-views.ts';
import type { View } from './view.ts';
import { device, negativeRole, role, source, validFrom, validTo } from './view-columns.ts';

/** Views of devices: their energy, and the declarations from which it follows. */
export const declaredDeviceViews: readonly View[] = [
  {
    name: 'device_daily_energy',
    dataset: 'daily_energy',
    glob: '*/*.parquet',
    hive: false,
    comment:
      "Energy of each day of the workgroup's time zone by device, as the report tells it: the sum of the sources that count, see device_source",
    from: deviceDays,
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      device,
      {
        name: 'energy_wh',
        type: 'BIGINT',
        comment: 'Energy, Wh; null on a day on which no source that counts has any, though others have',
      },
      { name: 'methods', type: 'VARCHAR[]', comment: 'How the energy of those sources was read' },
      {
        name: 'flags',
        type: 'VARCHAR[]',
        comment:
          'Quality flags of any of those sources; incomplete where one of them is missing, mixed where the device has several roles of which one is told, undeclared where nobody says what a source is',
      },
      {
        name: 'coverage',
        type: 'DOUBLE',
        comment: 'The least share of the day that measurements cover, 0 to 1',
      },
      {
        name: 'status',
        type: 'VARCHAR',
        comment: 'provisional where one of them is, else restated, else final',
      },
      { name: 'version', type: 'INTEGER', comment: 'The highest version' },
      { name: 'computed_at', type: 'TIMESTAMPTZ', comment: 'When the last of them was computed' },
    ],
  },
  {
    name: 'device_source',
    dataset: 'device_source',
    glob: '*.parquet',
    hive: false,
    comment:
      'Which sources devices have, and which of them add up to the device, by stretches of days in which the same is declared',
    columns: [
      device,
      source,
      role,
      negativeRole,
      {
        name: 'counts',
        type: 'BOOLEAN',
        comment:
          'Whether it is part of the energy of the whole device: the total source alone, else the sources of one role, else all where none has a role',
      },
      {
        name: 'part',
        type: 'VARCHAR',
        comment: 'What of it counts: whole, or the intervals in which it rose (rise) or fell (fall)',
      },
      validFrom,
      validTo,
    ],
  },
  {
    name: 'source_role',
    dataset: 'source_role',
    glob: '*.parquet',
    hive: false,
    comment: 'What the energy of sources is, by stretches of days, as it follows from the configuration',
    columns: [
      device,
      source,
      {
        ...role,
        comment:
          'What its energy is: production, consumption, grid_import, grid_export, battery_charge, battery_discharge or other',
      },
      negativeRole,
      {
        name: 'within',
        type: 'VARCHAR',
        comment: 'What contains it: <device>.<source>, or site for what is computed of a whole site',
      },
      validFrom,
      validTo,
    ],
  },
  {
    name: 'peak_power',
    dataset: 'peak_power',
    glob: '*.parquet',
    hive: false,
    comment: 'Peak power of what devices produce with, as configured, for the specific yield',
    columns: [device, { name: 'kwp', type: 'DOUBLE', comment: 'Peak power, kWp' }, validFrom, validTo],
  },
  {
    name: 'absent_role',
    dataset: 'absent_role',
    glob: '*.parquet',
    hive: false,
    comment: 'Roles that sites are declared not to have, so that they are 0 in their balance',
    columns: [
      {
        name: 'site',
        type: 'VARCHAR',
        comment: 'Name of the site; null for the workgroup, which lacks what all of its sites lack',
      },
      { ...role, comment: 'Role that it does not have' },
    ],
  },
];
