-- The gaps that are not closed, the oldest first.
-- Columns: gap_id, reason, from_time_ms, to_time_ms, detected_at_ms, note.
SELECT
  gap_id::DOUBLE AS gap_id,
  reason,
  from_time_ms::DOUBLE AS from_time_ms,
  to_time_ms::DOUBLE AS to_time_ms,
  detected_at_ms::DOUBLE AS detected_at_ms,
  note
FROM gap
WHERE closed_at_ms IS NULL AND origin = 'stream'
ORDER BY gap_id;
