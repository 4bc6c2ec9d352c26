-- What traced power ($series_id) says of the day ($start_ms, $end_ms), in order of time. Of more than $rows_max, what is not covered and the two ends are left;
-- parts, sum_nwh, sum_wh: of all of it (billionths of a Wh as text, and rounded as the intervals of a day are).
SELECT a::DOUBLE AS from_ms, b::DOUBLE AS to_ms, pa AS from_w, pb AS to_w, covered, exact_nwh / 1e9 AS energy_wh, b - a AS milliseconds,
  (count(*) OVER ())::INTEGER AS parts, (sum(exact_nwh) OVER ())::VARCHAR AS sum_nwh, round(sum(exact_nwh) OVER () / 1e9)::DOUBLE AS sum_wh
FROM power_line
WHERE series_id = $series_id AND i >= $start_ms::BIGINT // 900000 AND i < $end_ms::BIGINT // 900000
QUALIFY NOT covered OR least(row_number() OVER (ORDER BY a), row_number() OVER (ORDER BY a DESC)) <= $rows_max::INTEGER // 2
ORDER BY a, b
LIMIT 2 * $rows_max::INTEGER;
