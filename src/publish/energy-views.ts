import { versionCauseList } from '../rollup/version-causes.ts';
import type { View } from './lake-view.ts';
import {
  batchId,
  device,
  energy,
  energyKwh,
  field,
  flags,
  method,
  source,
  streamId,
  table,
} from './view-columns.ts';

/** Views of energy by interval and day, of corrections, and of the tables that are needed to read them. */
export const energyViews: readonly View[] = [
  {
    name: 'interval_energy',
    dataset: 'interval_energy',
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
      energyKwh,
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
    comment: "Energy of each day of the workgroup's time zone by device and source",
    columns: [
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      device,
      source,
      energy,
      energyKwh,
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
      {
        name: 'version',
        type: 'INTEGER',
        comment: 'Grows by one each time that the day changes after its end',
      },
      { name: 'computed_at', type: 'TIMESTAMPTZ', comment: 'When this version was computed' },
    ],
  },
  {
    name: 'daily_energy_version',
    dataset: 'daily_energy_version',
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
        comment: `Causes of the version; ${versionCauseList}; null for old versions without it`,
      },
      { ...batchId, comment: 'Newest batch that the computation used' },
    ],
  },
  {
    name: 'local_day',
    dataset: 'local_day',
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
  {
    name: 'correction',
    dataset: 'correction',
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
    comment:
      'Meaning of the quality flags of days and intervals: join by unnest(flags). A flag describes how the energy was computed. It does not mean that the energy is wrong',
    columns: [
      { name: 'flag', type: 'VARCHAR', comment: 'Name of the flag' },
      { name: 'meaning', type: 'VARCHAR', comment: 'Its meaning' },
    ],
  },
];
