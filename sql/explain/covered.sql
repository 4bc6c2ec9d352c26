-- The stretches of the day ($start_ms, $end_ms) that traced power ($series_id) covers, in order.
SELECT min(a)::DOUBLE AS from_ms, max(b)::DOUBLE AS to_ms
FROM (
  SELECT a, b, count(*) FILTER (begins) OVER (ORDER BY a, b) AS stretch
  FROM (
    SELECT a, b, coalesce(a > lag(b) OVER (ORDER BY a, b), true) AS begins
    FROM power_line
    WHERE series_id = $series_id AND i >= $start_ms::BIGINT // 900000 AND i < $end_ms::BIGINT // 900000 AND covered
  )
)
GROUP BY stretch
ORDER BY from_ms;
