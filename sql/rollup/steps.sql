-- Neighbouring readings of the series in context, as steps, with the reading before and after the intervals.
-- raw_step: series_id, method, t0, v0 (null for the first reading), t1, v1
CREATE OR REPLACE TEMP TABLE raw_step AS
SELECT
  r.series_id, c.method,
  lag(r.event_time_ms) OVER w AS t0, lag(r.value) OVER w AS v0,
  r.event_time_ms AS t1, r.value AS v1
FROM reading r
JOIN context c ON c.series_id = r.series_id AND r.event_time_ms BETWEEN c.first_ms AND c.last_ms
WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
WINDOW w AS (PARTITION BY r.series_id ORDER BY r.event_time_ms);
