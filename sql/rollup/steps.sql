-- Neighbouring readings of the series in context, as steps, with the reading before and after the intervals.
-- Each is held against the rules here, because joining the rules to every step again costs more than all the rest.
-- raw_step: series_id, t0, v0 (null for the first reading), t1, v1; of registers whether it is odd (no plain growth explains it, see
-- find-breaks), and of lifetime registers whether it is the first or last in context, crosses an interval's bound, fell
CREATE OR REPLACE TEMP TABLE raw_step AS
SELECT
  series_id, t0, v0, t1, v1,
  is_lifetime AND t0 IS NULL AS is_first, is_lifetime AND next_ms IS NULL AS is_last,
  is_lifetime AND t1 // 900000 > t0 // 900000 AS crosses,
  is_lifetime AND NOT net AND v1 < v0 AS fell,
  is_register AND NOT net AND (v1 < v0 - jitter_wh OR v1 - v0 > max_power_w * (t1 - t0) / 3600000 + jitter_wh OR (v0 = 0 AND v1 > 0)) AS odd
FROM (
  SELECT
    r.series_id,
    lag(r.event_time_ms) OVER w AS t0, lag(r.value) OVER w AS v0,
    r.event_time_ms AS t1, r.value AS v1,
    lead(r.event_time_ms) OVER w AS next_ms, c.is_register, c.is_lifetime, c.net, c.max_power_w, c.jitter_wh
  FROM reading r
  JOIN context c ON c.series_id = r.series_id AND r.event_time_ms BETWEEN c.first_ms AND c.last_ms
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  WINDOW w AS (PARTITION BY r.series_id ORDER BY r.event_time_ms)
);
