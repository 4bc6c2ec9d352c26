-- As store-register-intervals, of steady registers, from the first and last reading of each quarter of an hour: the least and the greatest,
-- because they only grow. Ten million readings are grouped in half the time in which they are put in order.
-- $low_ms, $high_ms: bounds of the context.
INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, covered_ms, flags, last_ms, last_value)
WITH quarter AS (
  SELECT series_id, event_time_ms // 900000 AS i,
    min(event_time_ms) AS first_ms, min(value) AS first_value, max(event_time_ms) AS last_ms, max(value) AS last_value
  FROM reading
  WHERE event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND series_id IN (SELECT series_id FROM context WHERE is_steady)
  GROUP BY series_id, i
), beside AS MATERIALIZED (
  -- t0, v0: the reading before; t2, v2: the one after
  SELECT *, lag(last_ms) OVER w AS t0, lag(last_value) OVER w AS v0, lead(first_ms) OVER w AS t2, lead(first_value) OVER w AS v2
  FROM quarter
  WINDOW w AS (PARTITION BY series_id ORDER BY i)
)
SELECT series_id, i * 900000 AS interval_start_ms,
  coalesce(index_wh((i + 1) * 900000, last_ms, last_value, t2, v2, NULL), round(last_value)::BIGINT)
    - coalesce(index_wh(i * 900000, t0, v0, first_ms, first_value, NULL), round(first_value)::BIGINT),
  CASE WHEN t2 IS NULL THEN last_ms ELSE (i + 1) * 900000 END - CASE WHEN t0 IS NULL THEN first_ms ELSE i * 900000 END,
  CASE WHEN is_wide(i * 900000, t0, v0, first_ms, first_value) THEN 16385 ELSE 0 END
    | CASE WHEN is_wide((i + 1) * 900000, last_ms, last_value, t2, v2) THEN 32769 ELSE 0 END,
  last_ms, last_value
FROM beside
UNION ALL
-- and the quarters between two that have readings
SELECT series_id, i * 900000,
  index_wh((i + 1) * 900000, t0, c0, t1, c1, NULL) - index_wh(i * 900000, t0, c0, t1, c1, NULL),
  900000,
  CASE WHEN is_wide(i * 900000, t0, c0, t1, c1) THEN 16385 ELSE 0 END | CASE WHEN is_wide((i + 1) * 900000, t0, c0, t1, c1) THEN 32769 ELSE 0 END,
  NULL, NULL
FROM (
  SELECT series_id, last_ms AS t0, last_value AS c0, t2 AS t1, v2 AS c1, unnest(range(i + 1, t2 // 900000)) AS i
  FROM beside WHERE t2 - last_ms > 900000
)
ORDER BY interval_start_ms;
