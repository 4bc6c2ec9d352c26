-- 50 Quarantine: messages and readings that could not be used, for people.
--
-- Reads   quarantine, rejected_reading.
-- Writes  nothing.
-- Why     People see what was received and not used, and why.

-- name: group_quarantine
-- Counts quarantined messages and rejected readings by reason, the most frequent first: at most $rows_max
-- groups. $devices: only of these, as a JSON array (null: all).
-- Columns:
--   kind                message or reading
--   reason
--   items, devices      how many
--   first_ms, last_ms   times of the quarantine for messages, event times for readings
SELECT kind, reason, sum(items)::DOUBLE AS items, count(DISTINCT device)::DOUBLE AS devices,
  min(first_ms)::DOUBLE AS first_ms, max(last_ms)::DOUBLE AS last_ms
FROM (
  SELECT 'message' AS kind, reason, 1 AS items, device, quarantined_at_ms AS first_ms, quarantined_at_ms AS last_ms
  FROM quarantine
  UNION ALL BY NAME
  SELECT 'reading' AS kind, reason, readings AS items, device, first_ms, last_ms FROM rejected_reading
)
WHERE $devices::VARCHAR IS NULL OR device IN (SELECT unnest(from_json($devices::JSON, '["UUID"]')))
GROUP BY kind, reason
ORDER BY items DESC, kind, reason
LIMIT $rows_max::BIGINT;

-- name: find_quarantine_samples
-- Returns the newest quarantined messages of each reason: at most $samples_max, and of each the first
-- $bytes_max bytes. $devices as in group_quarantine.
SELECT reason, device::VARCHAR AS device, source, field, event_time_ms::DOUBLE AS event_time_ms, detail,
  bytes[1:$bytes_max::BIGINT]::BLOB AS head,
  octet_length(bytes)::DOUBLE AS byte_count
FROM quarantine
WHERE $devices::VARCHAR IS NULL OR device IN (SELECT unnest(from_json($devices::JSON, '["UUID"]')))
QUALIFY row_number() OVER (
  PARTITION BY reason ORDER BY quarantined_at_ms DESC, batch_id DESC, stream_offset DESC
) <= $samples_max::BIGINT
ORDER BY reason, quarantined_at_ms DESC, batch_id DESC, stream_offset DESC;

-- name: find_rejected_samples
-- Returns rejected readings of each reason that were kept as samples: of the newest days at most
-- $samples_max, with the first $bytes_max characters of the value. $devices as in group_quarantine.
WITH sampled AS (
  -- The samples of rejected readings.
  SELECT reason, device, source, field, day_start_ms, unnest(samples) AS sample
  FROM rejected_reading
  WHERE $devices::VARCHAR IS NULL OR device IN (SELECT unnest(from_json($devices::JSON, '["UUID"]')))
)
SELECT reason, device::VARCHAR AS device, source, field, sample.event_time_ms::DOUBLE AS event_time_ms,
  left(sample."text", $bytes_max::BIGINT) AS value
FROM sampled
QUALIFY row_number() OVER (
  PARTITION BY reason ORDER BY day_start_ms DESC, sample.event_time_ms DESC
) <= $samples_max::BIGINT
ORDER BY reason, day_start_ms DESC, event_time_ms DESC;
