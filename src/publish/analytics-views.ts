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
  comment: 'How the field tells energy: total_energy, daily_energy, power_curve or interval_energy',
} as const;
const streamId = {
  name: 'stream_id',
  type: 'INTEGER',
  comment:
    'Which of the configured fields; the intervals of the same device, source and stream_id add up to the day',
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
  comment: 'production, consumption, import or export, as configured; null where nobody says it',
} as const;
const revision = {
  name: 'revision',
  type: 'INTEGER',
  comment: 'From 1 on; one more than that of what it replaced',
} as const;
const isCurrent = {
  name: 'is_current',
  type: 'BOOLEAN',
  comment: 'Whether it counts: no later upload has replaced it',
} as const;

const role = {
  name: 'role',
  type: 'VARCHAR',
  comment: 'What its energy is; null where none is declared',
} as const;
const negativeRole = {
  name: 'negative_role',
  type: 'VARCHAR',
  comment: 'What its negative intervals are, of a register that may fall; else null',
} as const;
const validFrom = {
  name: 'valid_from',
  type: 'DATE',
  comment: 'First local day; null for ever before',
} as const;
const validTo = {
  name: 'valid_to',
  type: 'DATE',
  comment: 'Last local day, included; null for ever after',
} as const;

/** The views of `analytics.duckdb`, with what a person has to know of every column. */
export const analyticsViews: readonly View[] = [
  {
    name: 'messages',
    dataset: 'messages',
    glob: '*/*/*.parquet',
    hive: true,
    comment: 'Everything that was received, each message once',
    columns: [
      table,
      { name: 'kind', type: 'VARCHAR', comment: 'telemetry, device_status or audit' },
      { ...device, comment: 'Device; null for audit messages' },
      { ...source, comment: 'Source of the device; null where the message names none' },
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
        comment: 'Fields that are not plain numbers, as a JSON object; null where there are none',
      },
      { name: 'message_id', type: 'BIGINT', comment: "The device's own counter, where it sends one" },
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
      'What happened to the workgroup: tokens, configuration, imports. Whoever can read these files can read it; through the service only tokens with org:audit can',
    where: "\"table\" = 'audit_logs' AND kind = 'audit'",
    columns: [
      { ...eventTime, comment: 'When it happened' },
      { name: 'actor', type: 'VARCHAR', select: "try(other->>'actor')", comment: 'Who did it' },
      {
        name: 'action',
        type: 'VARCHAR',
        select: "try(other->>'action')",
        comment: 'What was done, such as token.created',
      },
      {
        name: 'target',
        type: 'VARCHAR',
        select: "try(other->>'target')",
        comment: 'To what, such as the id of a token',
      },
      {
        name: 'data',
        type: 'JSON',
        select: "try(other->'data')",
        comment: 'More about it, as a JSON object',
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
      'When devices came online and went offline, as reported or found out by their silence; a state that is said again is no transition',
    columns: [
      device,
      { name: 'state', type: 'VARCHAR', comment: 'online or offline' },
      {
        name: 'reason',
        type: 'VARCHAR',
        comment: 'Why, where it was told; the stream service itself says timeout and data received',
      },
      { ...eventTime, comment: 'When it happened, by whoever told it' },
      storeTime,
      streamOffset,
    ],
  },
  {
    name: 'device_state',
    dataset: 'device_state',
    glob: '*.parquet',
    hive: false,
    comment: 'Which devices are there now: the last transition of each, and when it was last heard',
    columns: [
      device,
      {
        name: 'state',
        type: 'VARCHAR',
        comment: 'online, offline, or unknown where nobody has ever said it',
      },
      { name: 'since', type: 'TIMESTAMPTZ', comment: 'Event time of the last transition' },
      { name: 'reason', type: 'VARCHAR', comment: 'Reason of the last transition, where it was told' },
      {
        name: 'last_seen',
        type: 'TIMESTAMPTZ',
        comment: 'Minute in which its newest telemetry was stored; null where there is none',
      },
    ],
  },
  {
    name: 'interval_energy',
    dataset: 'interval_energy',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Energy of each 15-minute interval of absolute time by device, source and field: days in any zone are sums of these. Where several fields tell the energy of one source, choose one: by stream_id, that of daily_energy',
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
        comment: 'How much of the interval measurements cover, ms (0 to 900000)',
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
      { name: 'coverage', type: 'DOUBLE', comment: 'Share of the day that measurements cover, 0 to 1' },
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
      'Every version of days that changed after they were over, in which a closed period shows how it has changed. A day is here from its first change on, or if it was computed when it was over; the newest version is what daily_energy has',
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      device,
      source,
      { name: 'version', type: 'INTEGER', comment: 'From 1 on, as in daily_energy' },
      { ...energy, comment: 'Energy, Wh; null where this version withdrew the day' },
      { ...method, comment: `${method.comment}; null where the day was withdrawn` },
      flags,
      {
        name: 'coverage',
        type: 'DOUBLE',
        comment: 'Share of the day that measurements cover, 0 to 1; null where the day was withdrawn',
      },
      {
        name: 'status',
        type: 'VARCHAR',
        comment:
          'What the day was when this version was computed: provisional (late data were waited for), final (its first version since then), or restated (it had been final before); null for versions from before this was kept',
      },
      { name: 'computed_at', type: 'TIMESTAMPTZ', comment: 'When this version was computed' },
      {
        name: 'causes',
        type: 'VARCHAR[]',
        comment:
          'What brought it about: stream (readings that came late), import, backfill, configuration, zone, learnt (limits that follow from later readings), correction (a person, see the view correction), or rules (another version of Wattline); null for versions from before this was kept',
      },
      { ...batchId, comment: 'Newest batch that had been taken in when it was computed' },
    ],
  },
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
        comment: 'First instant after it: 23 or 25 hours later where the clock is changed',
      },
    ],
  },
  ...balanceViews,
  {
    name: 'quarantine',
    dataset: 'quarantine',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Whole messages that were received and could not be read or landed; single readings are in rejected_reading',
    columns: [
      { name: 'quarantined_at', type: 'TIMESTAMPTZ', comment: 'When it was set aside' },
      { name: 'stage', type: 'VARCHAR', comment: 'Which stage set it aside' },
      { name: 'reason', type: 'VARCHAR', comment: 'Why' },
      { name: 'detail', type: 'VARCHAR', comment: 'What was wrong with it' },
      device,
      { ...source, comment: 'Source of the device, where it is known' },
      { ...field, comment: 'Field of a single reading' },
      eventTime,
      streamOffset,
      { name: 'bytes', type: 'BLOB', comment: 'The message as it came, where it could not be decoded' },
      batchId,
    ],
  },
  {
    name: 'rejected_reading',
    dataset: 'rejected_reading',
    glob: '*/*.parquet',
    hive: false,
    comment:
      'Readings that were rejected: a row for each UTC day on which they were, device, source, field and reason. Kept for 90 days',
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
        comment: 'The first 20 of them, each with the value as it came; none of nulls',
      },
      { name: 'import_id', type: 'BIGINT', comment: 'The import that brought them; null where none did' },
    ],
  },
  {
    name: 'gap',
    dataset: 'gap',
    glob: '*.parquet',
    hive: false,
    comment: 'Stretches of the stream that could not be read: expired, recreated or lost upstream',
    columns: [
      { name: 'gap_id', type: 'BIGINT', comment: 'Number of the gap' },
      { name: 'origin', type: 'VARCHAR', comment: 'What was being read' },
      { name: 'reason', type: 'VARCHAR', comment: 'Why it could not be read' },
      { name: 'from_offset', type: 'UBIGINT', comment: 'First position that is missing' },
      { name: 'to_offset', type: 'UBIGINT', comment: 'Position at which reading went on' },
      { name: 'from_time', type: 'TIMESTAMPTZ', comment: 'Store time of the last message before it' },
      { name: 'to_time', type: 'TIMESTAMPTZ', comment: 'Store time at which reading went on' },
      { name: 'detected_at', type: 'TIMESTAMPTZ', comment: 'When it was noticed' },
      {
        name: 'closed_at',
        type: 'TIMESTAMPTZ',
        comment: 'When it had been read after all; null while it is missing',
      },
      {
        name: 'note',
        type: 'VARCHAR',
        comment: 'Why the last backfill could not fill it; null where none tried',
      },
    ],
  },
  {
    name: 'correction',
    dataset: 'correction',
    glob: '*.parquet',
    hive: false,
    comment:
      'What people have corrected, and what they have undone of it: readings that count for nothing, energy that was set or estimated. Days with a correction in force have the flag corrected',
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
      { name: 'day', type: 'DATE', comment: 'The local day, where one was named; else null' },
      { name: 'from_time', type: 'TIMESTAMPTZ', comment: 'First instant' },
      { name: 'to_time', type: 'TIMESTAMPTZ', comment: 'First instant after it' },
      {
        ...energy,
        comment: 'What was set or estimated in all, Wh; null where readings are excluded, and of an undo',
      },
      {
        name: 'basis',
        type: 'JSON',
        select: 'basis::JSON',
        comment: 'What an estimate was worked out from, as a JSON object; else null',
      },
      { name: 'reason', type: 'VARCHAR', comment: 'Why, as the author says it' },
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
        comment: 'How many days of a device and source it changed as it was made',
      },
      { name: 'before_wh', type: 'BIGINT', comment: 'Energy of these days before, Wh' },
      { name: 'after_wh', type: 'BIGINT', comment: 'Energy of these days then, Wh' },
    ],
  },
  {
    name: 'series',
    dataset: 'series',
    glob: '*.parquet',
    hive: false,
    comment: 'Which devices and sources have energy, and from which fields',
    columns: [
      device,
      source,
      table,
      field,
      method,
      { name: 'active', type: 'BOOLEAN', comment: 'Whether the field is still configured' },
      { name: 'step_ms', type: 'BIGINT', comment: 'Usual time between two values, ms; null for registers' },
      {
        name: 'resolution_wh',
        type: 'DOUBLE',
        comment: 'What a register counts by, Wh; null where it is not known, or no register',
      },
    ],
  },
  {
    name: 'quality_flag',
    dataset: 'quality_flag',
    glob: '*.parquet',
    hive: false,
    comment:
      'What the quality flags mean that stand in flags of days and intervals, one row each: join by unnest(flags). A flag says how the energy was read, not that it is wrong',
    columns: [
      { name: 'flag', type: 'VARCHAR', comment: 'Name, as it stands in flags' },
      { name: 'meaning', type: 'VARCHAR', comment: 'What it says of the energy' },
    ],
  },
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
