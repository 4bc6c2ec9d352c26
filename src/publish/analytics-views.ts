import { balanceViews } from './balance-views.ts';
import { deviceDays } from './device-views.ts';
import type { View } from './view.ts';

const device = { name: 'device', type: 'UUID', comment: 'Device' } as const;
const source = {
  name: 'source',
  type: 'VARCHAR',
  comment:
    'Source of the device, such as an inverter, a phase or a meter; "default" where readings name none',
} as const;
const table = { name: 'table', type: 'VARCHAR', comment: 'Table of the stream' } as const;
const field = { name: 'field', type: 'VARCHAR', comment: 'Field that the energy was read from' } as const;
const method = {
  name: 'method',
  type: 'VARCHAR',
  comment: 'Method of the field: total_energy, daily_energy, power_curve or interval_energy',
} as const;
const streamId = {
  name: 'stream_id',
  type: 'INTEGER',
  comment:
    'Number of the configured field; intervals of the same device, source and stream_id add up to the day',
} as const;
const energy = { name: 'energy_wh', type: 'BIGINT', comment: 'Energy, Wh' } as const;
const flags = { name: 'flags', type: 'VARCHAR[]', comment: 'Quality flags; see quality_flag' } as const;
const eventTime = {
  name: 'event_time',
  type: 'TIMESTAMPTZ',
  comment: 'When it was measured, by the device',
} as const;
const storeTime = {
  name: 'store_time',
  type: 'TIMESTAMPTZ',
  comment: 'When the stream service stored it',
} as const;
const streamOffset = { name: 'stream_offset', type: 'UBIGINT', comment: 'Position in the stream' } as const;
const batchId = { name: 'batch_id', type: 'BIGINT', comment: 'Batch that it landed in' } as const;
const meterCode = { name: 'meter_code', type: 'VARCHAR', comment: 'Meter' } as const;
const direction = {
  name: 'direction',
  type: 'VARCHAR',
  comment: 'production, consumption, import or export, as configured; null if not configured',
} as const;
const revision = {
  name: 'revision',
  type: 'INTEGER',
  comment: 'From 1; grows by one with each replacement',
} as const;
const isCurrent = {
  name: 'is_current',
  type: 'BOOLEAN',
  comment: 'True if no later upload has replaced it',
} as const;

const role = {
  name: 'role',
  type: 'VARCHAR',
  comment: 'Role of the energy; null if none is configured',
} as const;
const negativeRole = {
  name: 'negative_role',
  type: 'VARCHAR',
  comment: 'Role of negative intervals of a register that may fall; else null',
} as const;
const validFrom = {
  name: 'valid_from',
  type: 'DATE',
  comment: 'First local day; null if unlimited',
} as const;
const validTo = {
  name: 'valid_to',
  type: 'DATE',
  comment: 'Last local day, included; null if unlimited',
} as const;

/** The views of `analytics.duckdb`, with a description of each column. */
export const analyticsViews: readonly View[] = [
  {
    name: 'messages',
    dataset: 'messages',
    glob: '*/*/*.parquet',
    hive: true,
    comment: 'All received messages, each once',
    columns: [
      table,
      { name: 'kind', type: 'VARCHAR', comment: 'telemetry, device_status or audit' },
      { ...device, comment: 'Device; null for audit messages' },
      { ...source, comment: 'Source of the device; null if the message has none' },
      eventTime,
      storeTime,
      {
        name: 'data',
        type: 'MAP(VARCHAR, DOUBLE)',
        comment: "Numeric fields as sent, in the device's own units: data['power']",
      },
      {
        name: 'other',
        type: 'JSON',
        select: 'try_cast(other AS JSON)',
        comment: 'Fields that are not plain numbers, as a JSON object; null if there are none',
      },
      { name: 'message_id', type: 'BIGINT', comment: 'Counter of the device, if it sends one' },
      streamOffset,
      batchId,
    ],
  },
  {
    name: 'audit_log',
    dataset: 'messages',
    glob: '*/*/*.parquet',
    hive: true,
    comment:
      'Audit log of the workgroup: tokens, configuration, imports. All readers of these files can read it. Over HTTP a token needs org:audit',
    where: "\"table\" = 'audit_logs' AND kind = 'audit'",
    columns: [
      { ...eventTime, comment: 'When it happened' },
      { name: 'actor', type: 'VARCHAR', select: "try(other->>'actor')", comment: 'Person or token' },
      {
        name: 'action',
        type: 'VARCHAR',
        select: "try(other->>'action')",
        comment: 'Action, such as token.created',
      },
      {
        name: 'target',
        type: 'VARCHAR',
        select: "try(other->>'target')",
        comment: 'Object of the action, such as the id of a token',
      },
      {
        name: 'data',
        type: 'JSON',
        select: "try(other->'data')",
        comment: 'Details, as a JSON object',
      },
      storeTime,
      streamOffset,
    ],
  },
  {
    name: 'device_status',
    dataset: 'device_status',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Times at which devices went online and offline, as reported or by their silence. A repeated state is not a transition',
    columns: [
      device,
      { name: 'state', type: 'VARCHAR', comment: 'online or offline' },
      {
        name: 'reason',
        type: 'VARCHAR',
        comment: 'Reason, if reported; the stream service writes timeout and data received',
      },
      { ...eventTime, comment: 'Time of the event, by the clock of its reporter' },
      storeTime,
      streamOffset,
    ],
  },
  {
    name: 'device_state',
    dataset: 'device_state',
    glob: '*.parquet',
    hive: false,
    comment: 'Current state of each device: its last transition, and its last message',
    columns: [
      device,
      {
        name: 'state',
        type: 'VARCHAR',
        comment: 'online, offline, or unknown if never reported',
      },
      { name: 'since', type: 'TIMESTAMPTZ', comment: 'Event time of the last transition' },
      { name: 'reason', type: 'VARCHAR', comment: 'Reason of the last transition, if reported' },
      {
        name: 'last_seen',
        type: 'TIMESTAMPTZ',
        comment: 'Minute in which its newest telemetry was stored; null if there is none',
      },
    ],
  },
  {
    name: 'interval_energy',
    dataset: 'interval_energy',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Energy of each 15-minute interval of absolute time by device, source and field: days of any zone are sums of them. If a source has several fields, choose one by stream_id, as daily_energy does',
    columns: [
      device,
      source,
      table,
      field,
      method,
      streamId,
      { name: 'interval_start', type: 'TIMESTAMPTZ', comment: 'First instant of the 15 minutes' },
      energy,
      {
        name: 'covered_ms',
        type: 'INTEGER',
        comment: 'Measured time of the interval, ms (0 to 900000)',
      },
      flags,
    ],
  },
  {
    name: 'daily_energy',
    dataset: 'daily_energy',
    glob: '*/*.parquet',
    hive: false,
    comment: "Energy of each day of the workgroup's time zone by device and source",
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      device,
      source,
      energy,
      method,
      table,
      field,
      streamId,
      flags,
      { name: 'coverage', type: 'DOUBLE', comment: 'Measured share of the day, 0 to 1' },
      {
        name: 'status',
        type: 'VARCHAR',
        comment: 'provisional (may still change), final, or restated (changed after it was final)',
      },
      { name: 'version', type: 'INTEGER', comment: 'Grows by one each time that the day is restated' },
      { name: 'computed_at', type: 'TIMESTAMPTZ', comment: 'When this version was computed' },
    ],
  },
  {
    name: 'daily_energy_version',
    dataset: 'daily_energy_version',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'All versions of days that changed after they had ended. A day is listed from its first change on, or if it was computed after its end. The newest version is in daily_energy',
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      device,
      source,
      { name: 'version', type: 'INTEGER', comment: 'From 1 on, as in daily_energy' },
      { ...energy, comment: 'Energy, Wh; null if this version withdrew the day' },
      { ...method, comment: `${method.comment}; null if the day was withdrawn` },
      flags,
      {
        name: 'coverage',
        type: 'DOUBLE',
        comment: 'Share of the day that measurements cover, 0 to 1; null if the day was withdrawn',
      },
      {
        name: 'status',
        type: 'VARCHAR',
        comment:
          'Status of the day in this version: provisional (late data were possible), final (first final version), or restated (it had been final before); null for old versions without it',
      },
      { name: 'computed_at', type: 'TIMESTAMPTZ', comment: 'When this version was computed' },
      {
        name: 'causes',
        type: 'VARCHAR[]',
        comment:
          'Cause: stream (late readings), import, backfill, configuration, zone, learnt (limits learnt from later readings), correction (see the view correction), or rules (another version of Wattline); null for old versions without it',
      },
      { ...batchId, comment: 'Newest batch that the computation used' },
    ],
  },
  {
    name: 'device_daily_energy',
    dataset: 'daily_energy',
    glob: '*/*.parquet',
    hive: false,
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
    glob: '*.parquet',
    hive: false,
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
    glob: '*.parquet',
    hive: false,
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
    glob: '*.parquet',
    hive: false,
    comment: 'Configured peak power of devices, for the specific yield',
    columns: [device, { name: 'kwp', type: 'DOUBLE', comment: 'Peak power, kWp' }, validFrom, validTo],
  },
  {
    name: 'absent_role',
    dataset: 'absent_role',
    glob: '*.parquet',
    hive: false,
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
  {
    name: 'local_day',
    dataset: 'local_day',
    glob: '*.parquet',
    hive: false,
    comment:
      "The days of the workgroup's time zone from the first to the last that has energy: join instants by day_start and day_end",
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      { name: 'day_start', type: 'TIMESTAMPTZ', comment: 'Its first instant' },
      {
        name: 'day_end',
        type: 'TIMESTAMPTZ',
        comment: 'First instant after it: 23 or 25 hours later if the clock changes',
      },
    ],
  },
  ...balanceViews,
  {
    name: 'quarantine',
    dataset: 'quarantine',
    glob: '*/*.parquet',
    hive: false,
    comment: 'Messages that could not be decoded or landed; single readings are in rejected_reading',
    columns: [
      { name: 'quarantined_at', type: 'TIMESTAMPTZ', comment: 'Time of the quarantine' },
      { name: 'stage', type: 'VARCHAR', comment: 'Stage that quarantined it' },
      { name: 'reason', type: 'VARCHAR', comment: 'Why' },
      { name: 'detail', type: 'VARCHAR', comment: 'Problem of the message' },
      device,
      { ...source, comment: 'Source of the device, if known' },
      { ...field, comment: 'Field of a single reading' },
      eventTime,
      streamOffset,
      { name: 'bytes', type: 'BLOB', comment: 'The original message, if it could not be decoded' },
      batchId,
    ],
  },
  {
    name: 'rejected_reading',
    dataset: 'rejected_reading',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Rejected readings: one row for each UTC day of the rejection, device, source, field and reason. Kept for 90 days',
    columns: [
      { name: 'day', type: 'DATE', comment: 'UTC day on which they were rejected' },
      device,
      source,
      field,
      { name: 'reason', type: 'VARCHAR', comment: 'Why' },
      { name: 'readings', type: 'BIGINT', comment: 'How many' },
      { name: 'first_event_time', type: 'TIMESTAMPTZ', comment: 'The first of their event times' },
      { name: 'last_event_time', type: 'TIMESTAMPTZ', comment: 'The last of their event times' },
      {
        name: 'samples',
        type: 'STRUCT(event_time TIMESTAMPTZ, stream_offset UBIGINT, "value" VARCHAR, batch_id BIGINT)[]',
        comment: 'The first 20 of them with their original values, without nulls',
      },
      { name: 'import_id', type: 'BIGINT', comment: 'Import of the readings; null for other readings' },
    ],
  },
  {
    name: 'gap',
    dataset: 'gap',
    glob: '*.parquet',
    hive: false,
    comment: 'Gaps of the stream: expired, recreated or lost upstream',
    columns: [
      { name: 'gap_id', type: 'BIGINT', comment: 'Number of the gap' },
      { name: 'origin', type: 'VARCHAR', comment: 'Stream that was read' },
      { name: 'reason', type: 'VARCHAR', comment: 'Why it could not be read' },
      { name: 'from_offset', type: 'UBIGINT', comment: 'First position that is missing' },
      { name: 'to_offset', type: 'UBIGINT', comment: 'Position at which reading continued' },
      { name: 'from_time', type: 'TIMESTAMPTZ', comment: 'Store time of the last message before it' },
      { name: 'to_time', type: 'TIMESTAMPTZ', comment: 'Store time at which reading continued' },
      { name: 'detected_at', type: 'TIMESTAMPTZ', comment: 'When it was noticed' },
      {
        name: 'closed_at',
        type: 'TIMESTAMPTZ',
        comment: 'Time at which it was filled; null while it is open',
      },
      {
        name: 'note',
        type: 'VARCHAR',
        comment: 'Why the last backfill could not fill it; null if none has tried',
      },
    ],
  },
  {
    name: 'correction',
    dataset: 'correction',
    glob: '*.parquet',
    hive: false,
    comment:
      'Corrections and undos: excluded readings, and set or estimated energy. Days with a correction in force have the flag corrected',
    columns: [
      { name: 'correction_id', type: 'BIGINT', comment: 'Number of the correction, from 1 on' },
      {
        name: 'kind',
        type: 'VARCHAR',
        comment:
          'exclude (readings), set (the energy of intervals), set_day (the energy of a local day), fill (an estimate), undo (of another one)',
      },
      device,
      source,
      { ...table, comment: 'Only readings of this table are excluded; null for all' },
      { ...field, comment: 'Only readings of this field are excluded; null for all' },
      { name: 'day', type: 'DATE', comment: 'Local day, if one was given; else null' },
      { name: 'from_time', type: 'TIMESTAMPTZ', comment: 'First instant' },
      { name: 'to_time', type: 'TIMESTAMPTZ', comment: 'First instant after it' },
      {
        ...energy,
        comment: 'Set or estimated energy, Wh; null for exclusions and undos',
      },
      {
        name: 'basis',
        type: 'JSON',
        select: 'basis::JSON',
        comment: 'Basis of an estimate, as a JSON object; else null',
      },
      { name: 'reason', type: 'VARCHAR', comment: 'Reason by the author' },
      { name: 'author', type: 'VARCHAR', comment: 'Who' },
      { name: 'created_at', type: 'TIMESTAMPTZ', comment: 'When' },
      { name: 'undoes', type: 'BIGINT', comment: 'The correction that it undoes; else null' },
      {
        name: 'undone_by',
        type: 'BIGINT',
        comment: 'The correction that undoes it; null while it is in force',
      },
      {
        name: 'days',
        type: 'BIGINT',
        comment: 'Number of days of a device and source that it changed',
      },
      { name: 'before_wh', type: 'BIGINT', comment: 'Energy of these days before, Wh' },
      { name: 'after_wh', type: 'BIGINT', comment: 'Energy of these days afterwards, Wh' },
    ],
  },
  {
    name: 'series',
    dataset: 'series',
    glob: '*.parquet',
    hive: false,
    comment: 'Devices and sources with energy, with their fields',
    columns: [
      device,
      source,
      table,
      field,
      method,
      { name: 'active', type: 'BOOLEAN', comment: 'True if the field is still configured' },
      { name: 'step_ms', type: 'BIGINT', comment: 'Usual time between two values, ms; null for registers' },
      {
        name: 'resolution_wh',
        type: 'DOUBLE',
        comment: 'Resolution of a register, Wh; null if unknown or not a register',
      },
    ],
  },
  {
    name: 'quality_flag',
    dataset: 'quality_flag',
    glob: '*.parquet',
    hive: false,
    comment:
      'Meaning of the quality flags of days and intervals: join by unnest(flags). A flag describes how the energy was computed. It does not mean that the energy is wrong',
    columns: [
      { name: 'flag', type: 'VARCHAR', comment: 'Name of the flag' },
      { name: 'meaning', type: 'VARCHAR', comment: 'Its meaning' },
    ],
  },
  {
    name: 'meter',
    dataset: 'meter',
    glob: '*.parquet',
    hive: false,
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
    glob: '*/*.parquet',
    hive: false,
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
    glob: '*.parquet',
    hive: false,
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
    glob: '*.parquet',
    hive: false,
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
