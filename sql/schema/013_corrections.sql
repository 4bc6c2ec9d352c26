-- What people correct: rows of their own, never edits of readings.

CREATE TABLE correction (
  correction_id BIGINT NOT NULL,
  kind VARCHAR NOT NULL,
  device UUID NOT NULL,
  source VARCHAR NOT NULL,
  table_name VARCHAR,
  field VARCHAR,
  day DATE,
  timezone VARCHAR,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  energy_wh BIGINT,
  basis VARCHAR,
  undoes BIGINT,
  reason VARCHAR NOT NULL,
  author VARCHAR NOT NULL,
  request_key VARCHAR,
  request VARCHAR NOT NULL,
  created_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE correction IS 'What people have corrected, and what they have undone of it: a row is never changed or deleted';
COMMENT ON COLUMN correction.correction_id IS 'Number of the correction, from 1 on';
COMMENT ON COLUMN correction.kind IS 'exclude (readings), set (the energy of intervals), set_day (the energy of a local day), fill (an estimate), undo (of another one)';
COMMENT ON COLUMN correction.device IS 'Device; of an undo that of what it undoes, as the source, the day and the times';
COMMENT ON COLUMN correction.source IS 'Source of the device';
COMMENT ON COLUMN correction.table_name IS 'Only readings of this table are excluded; null for all';
COMMENT ON COLUMN correction.field IS 'Only readings of this field are excluded; null for all';
COMMENT ON COLUMN correction.day IS 'The local day, where one was named';
COMMENT ON COLUMN correction.timezone IS 'The zone of that day';
COMMENT ON COLUMN correction.from_ms IS 'First instant';
COMMENT ON COLUMN correction.to_ms IS 'First instant after it';
COMMENT ON COLUMN correction.energy_wh IS 'Energy (Wh) of all of it: what was set, or what was worked out; null where readings are excluded, and of an undo';
COMMENT ON COLUMN correction.basis IS 'JSON: what an estimate was worked out from; else null';
COMMENT ON COLUMN correction.undoes IS 'correction_id of what is undone; else null';
COMMENT ON COLUMN correction.reason IS 'Why, as the author says it';
COMMENT ON COLUMN correction.author IS 'Who';
COMMENT ON COLUMN correction.request_key IS 'Key that the caller gave, by which the same request is known again; null for none';
COMMENT ON COLUMN correction.request IS 'JSON of what was asked for';
COMMENT ON COLUMN correction.created_at_ms IS 'When';

CREATE TABLE correction_value (
  correction_id BIGINT NOT NULL,
  interval_start_ms BIGINT NOT NULL,
  energy_wh BIGINT NOT NULL
);
COMMENT ON TABLE correction_value IS 'What an estimate (kind fill) was worked out to be, once, in each interval';

CREATE TABLE correction_effect (
  correction_id BIGINT NOT NULL,
  day DATE NOT NULL,
  device UUID NOT NULL,
  source VARCHAR NOT NULL,
  before_wh BIGINT,
  after_wh BIGINT
);
COMMENT ON TABLE correction_effect IS 'What a correction made of days as it was made: Wh before and after; null where there was no energy';

CREATE TABLE excluded_reading (
  series_id INTEGER NOT NULL,
  event_time_ms BIGINT NOT NULL,
  value DOUBLE NOT NULL,
  message_id BIGINT,
  stream_offset UBIGINT,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE excluded_reading IS 'Readings that a correction excludes, as in table reading, where they are not meanwhile. The two hold one reading for each series and event time together';

CREATE TABLE corrected_interval (
  correction_id BIGINT NOT NULL,
  series_id INTEGER NOT NULL,
  interval_start_ms BIGINT NOT NULL,
  energy_wh BIGINT NOT NULL,
  flags USMALLINT NOT NULL
);
COMMENT ON TABLE corrected_interval IS 'Energy of intervals that was set or estimated. It stands in place of what is measured in the series that the day is read from; interval_energy keeps what is measured';

CREATE VIEW correction_in_force AS
SELECT * FROM correction c
WHERE kind <> 'undo' AND NOT EXISTS (SELECT 1 FROM correction u WHERE u.undoes = c.correction_id);
COMMENT ON VIEW correction_in_force IS 'Corrections that are not undone';

CREATE VIEW excluded_range AS
SELECT s.series_id, c.from_ms, c.to_ms
FROM correction_in_force c
JOIN series s USING (device, source)
JOIN energy_stream e USING (stream_id)
WHERE c.kind = 'exclude' AND (c.table_name IS NULL OR c.table_name = (e.identity->>'table')) AND (c.field IS NULL OR c.field = (e.identity->>'field'));
COMMENT ON VIEW excluded_range IS 'The time of each series of which readings are excluded';

CREATE VIEW known_reading AS
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM reading
UNION ALL
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM excluded_reading;
COMMENT ON VIEW known_reading IS 'Readings, whether excluded or not: one for each series and event time';

CREATE VIEW told_interval AS
SELECT series_id, interval_start_ms, energy_wh, covered_ms, flags
FROM interval_energy i
WHERE NOT EXISTS (SELECT 1 FROM corrected_interval c WHERE c.series_id = i.series_id AND c.interval_start_ms = i.interval_start_ms)
UNION ALL
SELECT series_id, interval_start_ms, energy_wh, 900000, flags FROM corrected_interval;
COMMENT ON VIEW told_interval IS 'Energy of intervals as it is reported: what was corrected in place of what is measured';

INSERT INTO quality_flag VALUES
  (8192, 'corrected', 'a person excluded readings of it, or set or estimated its energy');
