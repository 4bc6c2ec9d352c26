-- 40 Pairs: neighbouring readings.
--
-- Reads   reading, scope, register_change.
-- Writes  reading_pair (one row for each reading in scope, with the reading before it).
-- Why     Everything that happens to a register can be seen between two neighbouring readings. This chapter
--         sorts all readings in scope once. Later chapters read the pairs.

-- name: collect_pairs
-- Makes one row for each reading in scope. Plausible pairs of lifetime registers inside one interval are
-- dropped, because nothing else needs them, unless $needs_all (to learn from every pair).
-- $low_ms, $high_ms: bounds of the readings in scope. $least_power_w: the lowest limit (W) of the registers
-- in scope.
-- reading_pair:
--   series_id
--   value_before          value of the reading before the pair; null: there is none
--   from_ms, from_value   the first reading; null: to_ms is the first one in scope
--   to_ms, to_value       the second reading
--   is_last               no reading in scope follows
--   is_needed             the pair is never dropped
CREATE OR REPLACE TEMP TABLE reading_pair AS
FROM (
  SELECT
    series_id,
    lag(value, 2) OVER in_order AS value_before, lag(event_time_ms) OVER in_order AS from_ms,
    lag(value) OVER in_order AS from_value,
    event_time_ms AS to_ms, value AS to_value,
    lead(event_time_ms) OVER in_order IS NULL AS is_last, is_needed
  FROM (
    SELECT reading.series_id, reading.event_time_ms, reading.value,
      scoped.needs_all OR reading.event_time_ms = scoped.anchor_ms AS is_needed
    FROM reading
    JOIN (
      SELECT *, method <> 'total_energy' OR series_id IN (SELECT series_id FROM register_change) AS needs_all FROM scope
    ) AS scoped ON scoped.series_id = reading.series_id
    WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
      -- Differences instead of comparisons, because DuckDB would use comparisons as join conditions, which
      -- takes three times as long.
      AND reading.event_time_ms - scoped.first_ms >= 0 AND scoped.last_ms - reading.event_time_ms >= 0
  )
  WINDOW in_order AS (PARTITION BY series_id ORDER BY event_time_ms)
)
WHERE $needs_all OR from_ms IS NULL OR is_last OR is_needed OR from_ms < start_ms_of(interval_of(to_ms))
  OR is_suspect(value_before, from_ms, from_value, to_ms, to_value, $least_power_w::DOUBLE);
