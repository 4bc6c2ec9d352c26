-- 50 Power: the parts of a power curve, and the time that they cover.
--
-- Reads   power_line (temporary, of chapter 65 of the roll-up).
-- Writes  nothing. Power in W, energy in Wh, instants in ms since 1970.
-- Why     The energy of the day is the sum of these parts.

-- name: find_parts
-- Returns the parts of traced power ($series_id) in the day ($start_ms, $end_ms), in order. If there are more than $rows_max, the uncovered parts and
-- both ends remain.
-- parts, sum_nwh, sum_wh: number and sum of all parts (billionths of a Wh as text, and rounded as the intervals of a day are)
SELECT a::DOUBLE AS from_ms, b::DOUBLE AS to_ms, pa AS from_w, pb AS to_w, covered, exact_nwh / 1e9 AS energy_wh, b - a AS milliseconds,
  (count(*) OVER ())::INTEGER AS parts, (sum(exact_nwh) OVER ())::VARCHAR AS sum_nwh, round(sum(exact_nwh) OVER () / 1e9)::DOUBLE AS sum_wh
FROM power_line
WHERE series_id = $series_id AND interval_index >= interval_of($start_ms::BIGINT) AND interval_index < interval_of($end_ms::BIGINT)
QUALIFY NOT covered OR least(row_number() OVER (ORDER BY a), row_number() OVER (ORDER BY a DESC)) <= $rows_max::INTEGER // 2
ORDER BY a, b
LIMIT 2 * $rows_max::INTEGER;

-- name: find_covered
-- Returns the stretches of the day ($start_ms, $end_ms) that traced power ($series_id) covers, in order.
SELECT min(a)::DOUBLE AS from_ms, max(b)::DOUBLE AS to_ms
FROM (
  SELECT a, b, count(*) FILTER (begins) OVER (ORDER BY a, b) AS stretch
  FROM (
    SELECT a, b, coalesce(a > lag(b) OVER (ORDER BY a, b), true) AS begins
    FROM power_line
    WHERE series_id = $series_id AND interval_index >= interval_of($start_ms::BIGINT) AND interval_index < interval_of($end_ms::BIGINT) AND covered
  )
)
GROUP BY stretch
ORDER BY from_ms;
