/** Columns that several views have. */

export const device = { name: 'device', type: 'UUID', comment: 'Device' } as const;
export const source = {
  name: 'source',
  type: 'VARCHAR',
  comment:
    'Source of the device, such as an inverter, a phase or a meter; "default" where readings name none',
} as const;
export const table = { name: 'table', type: 'VARCHAR', comment: 'Table of the stream' } as const;
export const field = {
  name: 'field',
  type: 'VARCHAR',
  comment: 'Field that the energy was read from',
} as const;
export const method = {
  name: 'method',
  type: 'VARCHAR',
  comment: 'Method of the field: total_energy, daily_energy, power_curve or interval_energy',
} as const;
export const streamId = {
  name: 'stream_id',
  type: 'INTEGER',
  comment:
    'Number of the configured field; intervals of the same device, source and stream_id add up to the day',
} as const;
export const energyKwh = {
  name: 'energy_kwh',
  type: 'DOUBLE',
  select: 'energy_wh / 1000',
  comment: 'Energy, kWh',
} as const;
export const energy = { name: 'energy_wh', type: 'BIGINT', comment: 'Energy, Wh' } as const;
export const flags = {
  name: 'flags',
  type: 'VARCHAR[]',
  comment: 'Quality flags; see quality_flag',
} as const;
export const eventTime = {
  name: 'event_time',
  type: 'TIMESTAMPTZ',
  comment: 'When it was measured, by the device',
} as const;
export const storeTime = {
  name: 'store_time',
  type: 'TIMESTAMPTZ',
  comment: 'When the stream service stored it',
} as const;
export const streamOffset = {
  name: 'stream_offset',
  type: 'UBIGINT',
  comment: 'Position in the stream',
} as const;
export const batchId = { name: 'batch_id', type: 'BIGINT', comment: 'Batch that it landed in' } as const;
export const meterCode = { name: 'meter_code', type: 'VARCHAR', comment: 'Meter' } as const;
export const direction = {
  name: 'direction',
  type: 'VARCHAR',
  comment: 'production, consumption, import or export, as configured; null if not configured',
} as const;
export const revision = {
  name: 'revision',
  type: 'INTEGER',
  comment: 'From 1; grows by one with each replacement',
} as const;
export const isCurrent = {
  name: 'is_current',
  type: 'BOOLEAN',
  comment: 'True if no later upload has replaced it',
} as const;

export const role = {
  name: 'role',
  type: 'VARCHAR',
  comment: 'Role of the energy; null if none is configured',
} as const;
export const negativeRole = {
  name: 'negative_role',
  type: 'VARCHAR',
  comment: 'Role of negative intervals of a register that may fall; else null',
} as const;
export const validFrom = {
  name: 'valid_from',
  type: 'DATE',
  comment: 'First local day; null if unlimited',
} as const;
export const validTo = {
  name: 'valid_to',
  type: 'DATE',
  comment: 'Last local day, included; null if unlimited',
} as const;
