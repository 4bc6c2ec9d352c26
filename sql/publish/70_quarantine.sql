-- 70 Quarantine: what could not be used, with the reason.
--
-- Reads   quarantine.
-- Writes  the rows of the dataset quarantine, one for each item.
-- Why     Nothing is lost silently.

-- name: count_quarantine
-- How many quarantined items are new, by month (UTC) of their quarantine: the rows from $from_row up to, not including, $to_row.
SELECT strftime(make_timestamp(quarantined_at_ms * 1000), '%Y-%m') AS month, count(*)::DOUBLE AS row_count
FROM quarantine
WHERE rowid >= $from_row::BIGINT AND rowid < $to_row::BIGINT
GROUP BY ALL
ORDER BY ALL;

-- name: select_quarantine
-- The quarantined items of one month ($start_ms, $end_ms: a half-open window of quarantine times) among the rows from $from_row up
-- to, not including, $to_row.
SELECT
  make_timestamptz(quarantined_at_ms * 1000) AS quarantined_at,
  stage,
  reason,
  detail,
  device,
  source,
  field,
  make_timestamptz(event_time_ms * 1000) AS event_time,
  stream_offset,
  bytes,
  batch_id
FROM quarantine
WHERE rowid >= $from_row::BIGINT AND rowid < $to_row::BIGINT
  AND quarantined_at_ms >= $start_ms::BIGINT AND quarantined_at_ms < $end_ms::BIGINT
ORDER BY device, event_time_ms, stream_offset, field
