-- Neighbouring readings of the series in context, as steps. Where only lifetime registers are in context and nothing is to be learnt, the
-- steps inside an interval are left out that grow as they should: nothing else looks at them.
-- $low_ms, $high_ms: bounds of the readings in context; $least_power_w, $needs_all: see context-limits.
-- raw_step: series_id, v_before (the reading before the step), t0, v0 (null for the first reading), t1, v1, is_last, is_suspect (may be a
-- break: without the rules of each series, because joining them to every step costs more than all the rest)
CREATE OR REPLACE TEMP TABLE raw_step AS
SELECT series_id, v_before, t0, v0, t1, v1, is_last,
  v1 < v0 OR v0 < v_before OR v0 = 0 OR v1 - v0 > $least_power_w::DOUBLE * (t1 - t0) / 3600000 AS is_suspect
FROM (
  SELECT
    series_id,
    lag(value, 2) OVER w AS v_before, lag(event_time_ms) OVER w AS t0, lag(value) OVER w AS v0,
    event_time_ms AS t1, value AS v1,
    lead(event_time_ms) OVER w IS NULL AS is_last
  FROM context_reading($low_ms::BIGINT, $high_ms::BIGINT)
  WINDOW w AS (PARTITION BY series_id ORDER BY event_time_ms)
)
WHERE t0 < t1 - t1 % 900000 OR t0 IS NULL OR is_last OR v1 < v0 OR v0 < v_before OR v0 = 0
  OR v1 - v0 > $least_power_w::DOUBLE * (t1 - t0) / 3600000
  OR $needs_all;
