-- Stretches of the stream that could not be read.
SELECT
  gap_id,
  origin,
  reason,
  from_offset,
  to_offset,
  make_timestamptz(from_time_ms * 1000) AS from_time,
  make_timestamptz(to_time_ms * 1000) AS to_time,
  make_timestamptz(detected_at_ms * 1000) AS detected_at,
  make_timestamptz(closed_at_ms * 1000) AS closed_at,
  note
FROM gap
ORDER BY gap_id
