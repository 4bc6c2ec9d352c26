-- Readings that are rejected are counted, with some samples. Whole messages that could not be read stay in quarantine as they came.

CREATE TABLE rejected_reading (
  day_start_ms BIGINT NOT NULL,
  import_id BIGINT NOT NULL,
  device UUID,
  source VARCHAR NOT NULL,
  field VARCHAR NOT NULL,
  reason VARCHAR NOT NULL,
  readings BIGINT NOT NULL,
  first_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  samples STRUCT(event_time_ms BIGINT, stream_offset UBIGINT, batch_id BIGINT, "text" VARCHAR)[] NOT NULL
);
COMMENT ON TABLE rejected_reading IS 'Readings that were rejected: one row for each UTC day on which they were, device, source, field and reason. Kept for 90 days';
COMMENT ON COLUMN rejected_reading.day_start_ms IS 'First instant of the UTC day on which they were rejected';
COMMENT ON COLUMN rejected_reading.import_id IS 'The import that brought them, 0 where none did';
COMMENT ON COLUMN rejected_reading.readings IS 'How many; one that several energy streams read counts once';
COMMENT ON COLUMN rejected_reading.first_ms IS 'Their first event time; last_ms: their last one';
COMMENT ON COLUMN rejected_reading.samples IS 'The first 20 of them, with the value as it came; none of nulls';

INSERT INTO rejected_reading
SELECT day_start_ms, import_id, device, source, field, reason, count(*), min(event_time_ms), max(event_time_ms),
  coalesce(min_by({'event_time_ms': event_time_ms, 'stream_offset': stream_offset, 'batch_id': batch_id, 'text': detail}, stream_offset, 20)
    FILTER (reason <> 'null' AND stream_offset IS NOT NULL), [])
FROM (
  SELECT DISTINCT q.quarantined_at_ms // 86400000 * 86400000 AS day_start_ms,
    CASE WHEN b.origin LIKE 'import:%' THEN q.batch_id // 1000000000 ELSE 0 END AS import_id,
    q.device, coalesce(q.source, 'default') AS source, coalesce(q.field, '') AS field, q.reason, q.event_time_ms, q.stream_offset, q.batch_id, q.detail
  FROM quarantine q LEFT JOIN batch b USING (batch_id)
  WHERE q.stage = 'rollup' AND q.event_time_ms IS NOT NULL
)
GROUP BY day_start_ms, import_id, device, source, field, reason;
DELETE FROM quarantine WHERE stage = 'rollup';
COMMENT ON TABLE quarantine IS 'Whole messages that were received and could not be read or landed, with the reason. They stay until they are read after all';

-- How far the quarantine was published hung on numbers that change: it is written once more.
INSERT INTO dirty_partition VALUES ('quarantine', 'schema');
INSERT INTO dirty_partition
SELECT DISTINCT 'rejected_reading', strftime(make_timestamp(day_start_ms * 1000), '%Y-%m-%d') FROM rejected_reading;
COMMENT ON COLUMN dirty_partition.dataset IS 'interval_energy, daily_energy, daily_energy_version, meter_reading, device_status, quarantine or rejected_reading';
COMMENT ON COLUMN dirty_partition.partition IS 'interval_energy, device_status, rejected_reading: UTC day YYYY-MM-DD; daily_energy, daily_energy_version: month YYYY-MM of the local day; meter_reading: month of UTC; quarantine: any text, where rows were deleted';
