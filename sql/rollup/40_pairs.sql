-- 40 Pairs: neighbouring readings.
--
-- Reads   reading, scope, register_change.
-- Writes  reading_pair (one row for each reading in scope, with the reading before it).
-- Why     Everything that happens to a register can be seen between two neighbouring readings. This chapter sorts all readings in scope once. Later
--         chapters read the pairs.

-- name: find_pairs
-- Makes one row for each reading in scope. Plausible pairs of lifetime registers inside one interval are dropped, because nothing else needs them,
-- unless $needs_all (to learn from every pair).
-- $low_ms, $high_ms: bounds of the readings in scope. $least_power_w: the lowest limit (W) of the registers in scope.
-- reading_pair:
--   series_id
--   v_before    value of the reading before the pair
--   t0
--   v0          time and value of the first reading; null for the first reading of all
--   t1
--   v1          the second reading
--   is_last
--   is_needed   the pair is never dropped
CREATE OR REPLACE TEMP TABLE reading_pair AS
FROM (
  SELECT
    series_id,
    lag(value, 2) OVER w AS v_before, lag(event_time_ms) OVER w AS t0, lag(value) OVER w AS v0,
    event_time_ms AS t1, value AS v1,
    lead(event_time_ms) OVER w IS NULL AS is_last, is_needed
  FROM (
    SELECT r.series_id, r.event_time_ms, r.value, s.needs_all OR r.event_time_ms = s.anchor_ms AS is_needed
    FROM reading r
    JOIN (SELECT *, method <> 'total_energy' OR series_id IN (SELECT series_id FROM register_change) AS needs_all FROM scope) AS s ON s.series_id = r.series_id
    WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
      -- Differences instead of comparisons, because DuckDB would use comparisons as join conditions, which takes three times as long.
      AND r.event_time_ms - s.first_ms >= 0 AND s.last_ms - r.event_time_ms >= 0
  )
  WINDOW w AS (PARTITION BY series_id ORDER BY event_time_ms)
)
WHERE $needs_all OR t0 IS NULL OR is_last OR is_needed OR t0 < t1 - t1 % interval_ms() OR is_suspect(v_before, t0, v0, t1, v1, $least_power_w::DOUBLE);
