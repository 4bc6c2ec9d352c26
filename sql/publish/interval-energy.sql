-- The intervals, what was corrected in place of what is measured, that start from $start_ms up to, not including, $end_ms. energy_wh: Wh; covered_ms: ms.
WITH chosen AS (
  SELECT * FROM told_interval
  WHERE interval_start_ms >= $start_ms::BIGINT AND interval_start_ms < $end_ms::BIGINT
),
flag_set AS (
  SELECT c.flags, list(q.flag ORDER BY q.bit) AS names
  FROM (SELECT DISTINCT flags FROM chosen) c JOIN quality_flag q ON c.flags & q.bit <> 0
  GROUP BY c.flags
)
SELECT
  s.device,
  s.source,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  e.identity->>'method' AS method,
  s.stream_id,
  make_timestamptz(i.interval_start_ms * 1000) AS interval_start,
  i.energy_wh,
  i.covered_ms,
  coalesce(f.names, []) AS flags
FROM chosen i
LEFT JOIN series s USING (series_id)
LEFT JOIN energy_stream e USING (stream_id)
LEFT JOIN flag_set f ON f.flags = i.flags
ORDER BY s.device, s.source, s.stream_id, i.interval_start_ms
