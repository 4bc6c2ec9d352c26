-- Local midnights inside silences of more than two hours at which a lifetime register is known after all: a register that restarts
-- every day, read together with the first reading after the silence, shows how much of the growth came after midnight. Where that is
-- all of it, both agree; else it is an estimate, because a daily register that has lost energy in the night looks the same.
-- $low_ms, $high_ms: bounds of the context.
-- pinned: series_id, t0, c0, t1, c1, covered, flags, held (the step), midnight_ms, midnight_value (Wh of the index at midnight), estimated
CREATE OR REPLACE TEMP TABLE pinned AS
WITH silent AS MATERIALIZED (
  SELECT s.*, daily.series_id AS daily_id, own.jitter_wh + daily.jitter_wh AS jitter_wh
  FROM step s
  JOIN series_rule own ON own.series_id = s.series_id AND NOT own.within_day
  JOIN series_rule daily ON daily.device = own.device AND daily.source = own.source AND daily.method = 'daily_energy'
  WHERE s.covered AND s.c1 > s.c0 AND s.t1 - s.t0 > 7200000
)
-- Outer joins on purpose: they keep the planner from multiplying the readings with each other.
SELECT s.series_id, s.t0, s.c0, s.t1, s.c1, s.covered, s.flags, s.held,
  day.start_ms AS midnight_ms, greatest(s.c0, s.c1 - shown.value) AS midnight_value,
  abs(s.c1 - shown.value - s.c0) > s.jitter_wh + 1e-6 AS estimated
FROM silent s
JOIN interval_day day ON day.interval_index = s.t1 // 900000
LEFT JOIN (SELECT series_id, event_time_ms, value FROM reading WHERE event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND series_id IN (SELECT daily_id FROM silent)) AS shown
  ON shown.series_id = s.daily_id AND shown.event_time_ms = s.t1
LEFT JOIN (SELECT series_id, event_time_ms, value FROM reading WHERE event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND series_id IN (SELECT daily_id FROM silent)) AS before
  ON before.series_id = s.daily_id AND before.event_time_ms = s.t0
WHERE s.t0 < day.start_ms AND s.t1 > day.start_ms AND shown.value <> before.value;
