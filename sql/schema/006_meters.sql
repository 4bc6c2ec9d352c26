-- Meter readings and budgets, as they were uploaded. Every row stays; what a later upload replaces says so. Written in one transaction
-- for each upload, which also marks the partitions of the lake that have changed. Days are not made here: reports spread
-- readings and budgets over the local days of a zone.

CREATE TABLE upload (
  upload_id BIGINT NOT NULL,
  kind VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  content_hash VARCHAR NOT NULL,
  actor VARCHAR NOT NULL,
  row_count BIGINT NOT NULL,
  stored_count BIGINT NOT NULL,
  revision INTEGER NOT NULL,
  received_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE upload IS 'One row for each upload of meter data or budgets that was taken';
COMMENT ON COLUMN upload.upload_id IS 'Number of the upload, from 1 on';
COMMENT ON COLUMN upload.kind IS 'meter_intervals, meter_registers or budget';
COMMENT ON COLUMN upload.name IS 'Name of the file, or of what was sent';
COMMENT ON COLUMN upload.content_hash IS 'SHA-256 of the rows as they were understood: the same again changes nothing';
COMMENT ON COLUMN upload.actor IS 'Who uploaded it';
COMMENT ON COLUMN upload.row_count IS 'Rows that it had';
COMMENT ON COLUMN upload.stored_count IS 'Rows of these that were stored, because they said something new';
COMMENT ON COLUMN upload.revision IS 'The highest revision of its rows';
COMMENT ON COLUMN upload.received_at_ms IS 'When it was received';

CREATE TABLE meter_register (
  meter_code VARCHAR NOT NULL,
  at_ms BIGINT NOT NULL,
  value_wh DOUBLE NOT NULL,
  direction VARCHAR,
  quality VARCHAR NOT NULL,
  revision INTEGER NOT NULL,
  replaced_by BIGINT,
  upload_id BIGINT NOT NULL
);
COMMENT ON TABLE meter_register IS 'Values of registers that were uploaded. The growth between neighbours is a row of meter_reading';
COMMENT ON COLUMN meter_register.meter_code IS 'Meter';
COMMENT ON COLUMN meter_register.at_ms IS 'When the register was read';
COMMENT ON COLUMN meter_register.value_wh IS 'What it showed, Wh, with the multiplier of the meter applied';
COMMENT ON COLUMN meter_register.direction IS 'production, consumption, import or export, as configured; null where nobody says it';
COMMENT ON COLUMN meter_register.quality IS 'measured, estimated or substituted';
COMMENT ON COLUMN meter_register.revision IS 'From 1 on; grows by one each time that this value is uploaded otherwise';
COMMENT ON COLUMN meter_register.replaced_by IS 'upload_id of what replaced it; null while it counts';
COMMENT ON COLUMN meter_register.upload_id IS 'Upload that it came with';

CREATE TABLE meter_reading (
  meter_code VARCHAR NOT NULL,
  start_ms BIGINT NOT NULL,
  end_ms BIGINT NOT NULL,
  energy_wh DOUBLE,
  direction VARCHAR,
  quality VARCHAR NOT NULL,
  from_register BOOLEAN NOT NULL,
  revision INTEGER NOT NULL,
  received_at_ms BIGINT NOT NULL,
  replaced_by BIGINT,
  upload_id BIGINT NOT NULL
);
COMMENT ON TABLE meter_reading IS 'Energy of intervals that meters have measured. The rows of a meter that count do not overlap';
COMMENT ON COLUMN meter_reading.meter_code IS 'Meter';
COMMENT ON COLUMN meter_reading.start_ms IS 'First instant of the interval';
COMMENT ON COLUMN meter_reading.end_ms IS 'First instant after it';
COMMENT ON COLUMN meter_reading.energy_wh IS 'Wh, 0 or more, with the multiplier of the meter applied; null where a register fell, so that nobody knows';
COMMENT ON COLUMN meter_reading.direction IS 'production, consumption, import or export, as configured; null where nobody says it';
COMMENT ON COLUMN meter_reading.quality IS 'measured, estimated, substituted, or fault where a register fell';
COMMENT ON COLUMN meter_reading.from_register IS 'Whether it is the growth between two values of meter_register';
COMMENT ON COLUMN meter_reading.revision IS 'From 1 on; one more than that of what it replaces';
COMMENT ON COLUMN meter_reading.received_at_ms IS 'When it was received';
COMMENT ON COLUMN meter_reading.replaced_by IS 'upload_id of what replaced it; null while it counts';
COMMENT ON COLUMN meter_reading.upload_id IS 'Upload that it came with';

CREATE TABLE budget (
  meter_code VARCHAR NOT NULL,
  period_start DATE NOT NULL,
  period_end DATE NOT NULL,
  energy_wh BIGINT NOT NULL,
  scenario VARCHAR NOT NULL,
  revision INTEGER NOT NULL,
  uploaded_at_ms BIGINT NOT NULL,
  replaced_by BIGINT,
  upload_id BIGINT NOT NULL
);
COMMENT ON TABLE budget IS 'Energy that is expected of meters, by periods of local days. Periods of several lengths may lie in one another; those of one length do not overlap';
COMMENT ON COLUMN budget.meter_code IS 'Meter';
COMMENT ON COLUMN budget.period_start IS 'First local day';
COMMENT ON COLUMN budget.period_end IS 'Last local day, included';
COMMENT ON COLUMN budget.energy_wh IS 'Wh of the whole period';
COMMENT ON COLUMN budget.scenario IS 'What kind of expectation, such as P50, P90, contract or reforecast';
COMMENT ON COLUMN budget.revision IS 'From 1 on; grows by one each time that this period is uploaded otherwise';
COMMENT ON COLUMN budget.uploaded_at_ms IS 'When it was uploaded';
COMMENT ON COLUMN budget.replaced_by IS 'upload_id of what replaced it; null while it counts';
COMMENT ON COLUMN budget.upload_id IS 'Upload that it came with';

COMMENT ON COLUMN dirty_partition.dataset IS 'interval_energy, daily_energy, device_status, quarantine or meter_reading';
COMMENT ON COLUMN dirty_partition.partition IS 'interval_energy: UTC day YYYY-MM-DD; daily_energy: month YYYY-MM of the local day; device_status: UTC day YYYY-MM-DD of the store time; quarantine: any text, where rows were deleted; meter_reading: month YYYY-MM of the interval''s start, in UTC';
