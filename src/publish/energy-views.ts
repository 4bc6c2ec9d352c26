import type { View } from './view.ts';
import { batchId, device, energy, field, flags, method, source, streamId, table } from './view-columns.ts';

/** Views of energy by interval and day, of corrections, and of what is needed to read them. */
export const energyViews: readonly View[] = [
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
];
