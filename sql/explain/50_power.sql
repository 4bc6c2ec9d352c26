-- 50 Power: the parts of a power curve, and the time that they cover.
--
-- Reads   power_line (temporary, of chapter 65 of the roll-up).
-- Writes  nothing. Power in W, energy in Wh, instants in ms since 1970.
-- Why     The energy of the day is the sum of these parts.

-- name: find_parts
-- Returns the parts of traced power ($series_id) in the day ($start_ms, $end_ms), in order. If there are more
-- than $rows_max, the uncovered parts and both ends remain. There can be many uncovered parts, so the rows
-- are at most twice $rows_max: both ends, and as many uncovered parts between them.
-- Columns:
--   from_ms, to_ms, from_w, to_w, covered, energy_wh, milliseconds
--   parts     number of all parts
--   sum_nwh   sum of all parts, in billionths of a Wh, as text
--   sum_wh    the same in Wh, rounded as the intervals of a day are
SELECT power_line.from_ms::DOUBLE AS from_ms, power_line.to_ms::DOUBLE AS to_ms, from_w, to_w, covered,
  exact_nwh / nwh_per_wh() AS energy_wh,
  power_line.to_ms - power_line.from_ms AS milliseconds, (count(*) OVER ())::INTEGER AS parts,
  (sum(exact_nwh) OVER ())::VARCHAR AS sum_nwh, round(sum(exact_nwh) OVER () / nwh_per_wh())::DOUBLE AS sum_wh
FROM power_line
WHERE series_id = $series_id AND interval_index >= interval_of($start_ms::BIGINT)
  AND interval_index < interval_of($end_ms::BIGINT)
QUALIFY NOT covered
  OR least(row_number() OVER (ORDER BY power_line.from_ms), row_number() OVER (ORDER BY power_line.from_ms DESC))
    <= $rows_max::INTEGER // 2
ORDER BY power_line.from_ms, power_line.to_ms
LIMIT 2 * $rows_max::INTEGER;

-- name: find_covered
-- Returns the stretches of the day ($start_ms, $end_ms) that traced power ($series_id) covers, in order.
WITH part AS (
  -- The covered parts. begins: before the part there is time that is not covered.
  SELECT from_ms, to_ms, coalesce(from_ms > lag(to_ms) OVER (ORDER BY from_ms, to_ms), true) AS begins
  FROM power_line
  WHERE series_id = $series_id AND interval_index >= interval_of($start_ms::BIGINT)
    AND interval_index < interval_of($end_ms::BIGINT) AND covered
), numbered AS (
  -- These parts, with the number of their stretch.
  SELECT from_ms, to_ms, count(*) FILTER (begins) OVER (ORDER BY from_ms, to_ms) AS stretch FROM part
)
SELECT min(numbered.from_ms)::DOUBLE AS from_ms, max(numbered.to_ms)::DOUBLE AS to_ms
FROM numbered
GROUP BY stretch
ORDER BY min(numbered.from_ms);
