import { deviceDays } from './device-views.ts';
import type { View } from './lake-view.ts';
import { device, energyKwh, negativeRole, role, source, validFrom, validTo } from './view-columns.ts';

/** Views of devices: their energy, and the declarations from which it follows. */
export const declaredDeviceViews: readonly View[] = [
  {
    name: 'device',
    dataset: 'device',
    comment: 'Devices that are configured or have messages, with their configured names: join by device',
    columns: [
      device,
      { name: 'device_id', type: 'VARCHAR', comment: 'The same as text, for tools that do not know UUIDs' },
      { name: 'name', type: 'VARCHAR', comment: 'Configured name; null if there is none' },
    ],
  },
  {
    name: 'workgroup',
    dataset: 'workgroup',
    comment: 'The workgroup, in one row',
    columns: [{ name: 'timezone', type: 'VARCHAR', comment: 'IANA time zone of its days' }],
  },
  {
    name: 'device_daily_energy',
    dataset: 'daily_energy',
    comment:
      "Energy of each day of the workgroup's time zone by device, as in the report: the sum of its sources, see device_source",
    from: deviceDays,
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      device,
      {
        name: 'energy_wh',
        type: 'BIGINT',
        comment: 'Energy, Wh; null if none of the added sources has energy, although others have',
      },
      energyKwh,
      { name: 'methods', type: 'VARCHAR[]', comment: 'Methods of these sources' },
      {
        name: 'flags',
        type: 'VARCHAR[]',
        comment:
          'Quality flags of these sources; incomplete if one is missing, mixed if the device has several roles and one is reported, undeclared if a source has no role',
      },
      {
        name: 'coverage',
        type: 'DOUBLE',
        comment: 'Lowest measured share of the day, 0 to 1',
      },
      {
        name: 'status',
        type: 'VARCHAR',
        comment: 'provisional if a source is provisional, else restated, else final',
      },
      { name: 'version', type: 'INTEGER', comment: 'The highest version' },
      { name: 'computed_at', type: 'TIMESTAMPTZ', comment: 'When the last of them was computed' },
    ],
  },
  {
    name: 'device_source',
    dataset: 'device_source',
    comment:
      'Sources of devices, and which of them add up to the device, by spans of days with the same roles',
    columns: [
      device,
      source,
      role,
      negativeRole,
      {
        name: 'counts',
        type: 'BOOLEAN',
        comment:
          'True if it is part of the energy of the device: the total source only, else the sources of one role, else all if none has a role',
      },
      {
        name: 'part',
        type: 'VARCHAR',
        comment: 'Counted part: whole, or intervals in which it rose (rise) or fell (fall)',
      },
      validFrom,
      validTo,
    ],
  },
  {
    name: 'source_role',
    dataset: 'source_role',
    comment: 'Roles of sources by spans of days, from the configuration',
    columns: [
      device,
      source,
      {
        ...role,
        comment:
          'Role: production, consumption, grid_import, grid_export, battery_charge, battery_discharge or other',
      },
      negativeRole,
      {
        name: 'within',
        type: 'VARCHAR',
        comment: 'Its container: <device>.<source>, or site for the computed part of a site',
      },
      validFrom,
      validTo,
    ],
  },
  {
    name: 'peak_power',
    dataset: 'peak_power',
    comment: 'Configured peak power of devices, for the specific yield',
    columns: [device, { name: 'kwp', type: 'DOUBLE', comment: 'Peak power, kWp' }, validFrom, validTo],
  },
  {
    name: 'absent_role',
    dataset: 'absent_role',
    comment: 'Roles that are configured as absent, so they are 0 in the balance',
    columns: [
      {
        name: 'site',
        type: 'VARCHAR',
        comment: 'Name of the site; null for the workgroup, if no site has the role',
      },
      { ...role, comment: 'Absent role' },
    ],
  },
];
