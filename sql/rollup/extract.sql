-- Readings of the configured energy streams in new messages and in those of the lake that are read again, in canonical units, each with the reason it is rejected for, if any.
-- $upto: last batch taken in. Temp table stream_setting: the configured streams, each with the last batch it has seen (after_batch).
-- extracted: stream_id, device, source_id (-1 where there is none), event_time_ms, value (Wh or W), reason, text (of what is rejected),
-- message_id, stream_offset, batch_id
CREATE OR REPLACE TEMP TABLE extracted AS
WITH raw AS (
  SELECT
    s.stream_id, s.method, s.net, s.modulus_wh, s.factor, s.multiplier, s.dimension,
    m.device,
    coalesce(m.source_id, -1) AS source_id,
    m.event_time_ms, m.store_time_ms, m.message_id, m.stream_offset, m.batch_id,
    m.numbers[list_position(m.field_ids, field_name.name_id)] AS plain,
    CASE WHEN m.other IS NOT NULL THEN json_extract(m.other, s.field_pointer) END AS json,
    CASE WHEN m.other IS NOT NULL AND s.unit_pointer IS NOT NULL THEN json_extract_string(m.other, s.unit_pointer) END AS unit
  FROM (FROM message UNION ALL FROM archived_message) AS m
  JOIN name AS table_name ON table_name.name_id = m.table_id
  JOIN stream_setting s ON s.table_name = table_name.name AND m.batch_id > s.after_batch
  LEFT JOIN name AS field_name ON field_name.name = s.field
  WHERE m.batch_id > (SELECT min(after_batch) FROM stream_setting) AND m.batch_id <= $upto::BIGINT AND m.kind = 0
), typed AS (
  SELECT *,
    CASE
      WHEN plain IS NOT NULL THEN plain
      WHEN json_type(json) IN ('DOUBLE', 'BIGINT', 'UBIGINT', 'HUGEINT') THEN try_cast(json AS DOUBLE)
      WHEN regexp_full_match(json ->> '$', '\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*') THEN try_cast(trim(json ->> '$') AS DOUBLE)
    END AS number
  FROM raw
  WHERE plain IS NOT NULL OR json IS NOT NULL
), judged AS (
SELECT
  t.*,
  t.number * CASE WHEN t.unit IS NULL THEN t.factor ELSE u.factor * t.multiplier END AS value,
  CASE
    WHEN t.device IS NULL THEN 'no_device'
    WHEN t.event_time_ms > t.store_time_ms + 600000 THEN 'future'
    -- Clocks that were never set start in 1970, 1980 or 2000. Before 2001-01-01T00:00:00Z: energy would be spread over decades.
    WHEN t.event_time_ms < 978307200000 THEN 'clock_not_set'
    WHEN t.number IS NULL AND json_type(t.json) = 'NULL' THEN 'null'
    WHEN t.number IS NULL THEN 'not_a_number'
    WHEN isnan(t.number) OR isinf(t.number) THEN 'not_finite'
    WHEN t.unit IS NOT NULL AND u.factor IS NULL THEN 'unknown_unit'
    -- Of integers that have a sign the least one says that there is no value.
    WHEN t.number IN (-2147483648, -9223372036854775808) THEN 'sentinel'
    WHEN t.number IN (4294967295, 2147483647, 18446744073709551615, 9223372036854775807)
      AND (t.modulus_wh IS NULL OR t.method = 'power_curve') THEN 'sentinel'
    WHEN t.number IN (65535, 32767, -32768) AND t.method = 'power_curve' AND t.factor < 1000 THEN 'sentinel'
    WHEN t.number < 0 AND t.method IN ('total_energy', 'daily_energy') AND NOT t.net THEN 'negative'
  END AS reason
FROM typed t
LEFT JOIN unit_factor u ON u.dimension = t.dimension AND u.unit = t.unit
)
SELECT
  stream_id, device, source_id, event_time_ms, value, reason,
  CASE WHEN reason IS NOT NULL THEN coalesce(json_extract_string(json, '$'), plain::VARCHAR) END AS text,
  message_id, stream_offset, batch_id
FROM judged;
