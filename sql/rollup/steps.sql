-- Neighbouring readings of the series in context, as steps. Where only lifetime registers are in context and nothing is to be learnt, the
-- steps inside an interval are left out that grow as they should: nothing else looks at them.
-- $low_ms, $high_ms: bounds of the readings in context; $least_power_w, $needs_all: see context-limits.
-- raw_step: series_id, v_before (the reading before the step), t0, v0 (null for the first reading), t1, v1, is_last
CREATE OR REPLACE TEMP TABLE raw_step AS
SELECT series_id, v_before, t0, v0, t1, v1, is_last
FROM (
  SELECT
    r.series_id,
    lag(r.value, 2) OVER w AS v_before, lag(r.event_time_ms) OVER w AS t0, lag(r.value) OVER w AS v0,
    r.event_time_ms AS t1, r.value AS v1,
    lead(r.event_time_ms) OVER w IS NULL AS is_last
  FROM reading r
  JOIN context c ON c.series_id = r.series_id
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    -- Differences, because comparisons of the two sides would join the join's conditions, which costs three times as much.
    AND r.event_time_ms - c.first_ms >= 0 AND c.last_ms - r.event_time_ms >= 0
  WINDOW w AS (PARTITION BY r.series_id ORDER BY r.event_time_ms)
)
WHERE t0 < t1 - t1 % 900000 OR t0 IS NULL OR is_last OR v1 < v0 OR v0 < v_before OR v0 = 0
  OR v1 - v0 > $least_power_w::DOUBLE * (t1 - t0) / 3600000
  OR $needs_all;
