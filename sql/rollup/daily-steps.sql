-- Growth of registers that restart every day, appended to step.
-- Inside a local day: the growth, after a restart the new value. From one day to the next: a fall, or a rise after a silence of more
-- than an hour that is possible since midnight, is the new day's energy since midnight; the same value again is the day before
-- that is still shown (carry-over); any other rise goes on from the reading before, where it is possible.
INSERT INTO step
WITH kept AS (
  SELECT k.series_id, k.event_time_ms AS t, k.value AS v, d.day, d.start_ms, d.end_ms, j.kind, j.energy_wh,
    r.jitter_wh, coalesce(r.max_power_w, 'infinity'::DOUBLE) AS max_power_w, coalesce(r.recount_power_w, r.max_power_w, 'infinity'::DOUBLE) AS recount_power_w
  FROM kept_reading k
  JOIN series_rule r USING (series_id)
  JOIN interval_day d ON d.interval_index = k.event_time_ms // 900000
  LEFT JOIN energy_event j ON j.series_id = k.series_id AND j.to_ms = k.event_time_ms AND j.kind IN ('reset', 'rollover', 'rebase')
  WHERE r.method = 'daily_energy'
), paired AS (
  SELECT *,
    lag(t) OVER w AS t0, lag(v) OVER w AS v0, lag(day) OVER w AS day0, lag(end_ms) OVER w AS day0_end_ms,
    count(kind) OVER w AS frame
  FROM kept
  WINDOW w AS (PARTITION BY series_id ORDER BY t)
), dated AS (
  SELECT *,
    first_value(v0) OVER d AS day_before,
    max(v) OVER d AS day_max, min(v) OVER d AS day_min,
    max(v) OVER (PARTITION BY series_id, day, frame ORDER BY t) AS c
  FROM paired
  WINDOW d AS (PARTITION BY series_id, day ORDER BY t)
), shown AS (
  SELECT *, coalesce(day_before > 0 AND day_max = day_before AND day_min = day_before, false) AS stale FROM dated
), judged AS (
  SELECT *,
    lag(c) OVER w AS c_before, lag(stale) OVER w AS stale_before,
    bool_or(NOT stale) OVER (PARTITION BY series_id, day) AS day_alive,
    max(frame) OVER (PARTITION BY series_id, day) AS day_frame,
    v <= recount_power_w * (t - greatest(t0, start_ms)) / 3600000 + jitter_wh AS reachable,
    v - v0 <= max_power_w * (t - t0) / 3600000 + jitter_wh AS continues
  FROM shown
  WINDOW w AS (PARTITION BY series_id ORDER BY t)
), told AS (
  SELECT *,
    CASE
      WHEN day <> day0 AND v = v0 THEN 'carry'
      WHEN day <> day0 AND (v < v0 OR t - t0 > 3600000) AND reachable THEN 'new_day'
      WHEN day <> day0 AND (v < v0 OR NOT continues) THEN 'rebase'
      WHEN day <> day0 THEN 'grow'
      WHEN kind = 'rebase' THEN 'rebase'
      WHEN kind IS NOT NULL THEN 'join'
      WHEN stale_before AND v > v0 AND t - t0 > 3600000 AND reachable THEN 'new_day'
      WHEN stale THEN 'carry'
      ELSE 'grow'
    END AS step_kind
  FROM judged
  WHERE t0 IS NOT NULL
)
SELECT series_id,
  CASE WHEN step_kind = 'new_day' OR (step_kind = 'carry' AND day <> day0) THEN greatest(t0, start_ms) ELSE t0 END AS t0,
  CASE step_kind WHEN 'grow' THEN CASE WHEN day = day0 THEN least(c_before, c) ELSE v0 END WHEN 'new_day' THEN 0 WHEN 'join' THEN c - energy_wh ELSE c END AS c0,
  t AS t1, c AS c1,
  step_kind <> 'rebase' AND (step_kind <> 'carry' OR day_alive) AS covered,
  -- The restart that ends the carry-over is what the register is for, and nothing to flag.
  (CASE WHEN kind = 'reset' AND step_kind = 'join' THEN CASE WHEN stale_before THEN 0 ELSE 2 END WHEN step_kind = 'join' THEN 4 WHEN step_kind = 'rebase' THEN 8 ELSE 0 END
    | CASE WHEN stale THEN 512 ELSE 0 END
    | CASE WHEN step_kind = 'grow' AND day = day0 AND v < c_before THEN 16 ELSE 0 END)::USMALLINT AS flags,
  v0 AS held
FROM told
UNION ALL
-- Until midnight the register is known where it still shows the same after it.
SELECT series_id, t0, v0, day0_end_ms, v0, true, 0, v0 FROM told WHERE step_kind = 'carry' AND day <> day0
UNION ALL
-- The very first reading of a series shows the energy since midnight, unless a restart later in the day says that it was carry-over.
SELECT series_id, start_ms, 0, t, v, true, 0, 0
FROM judged
WHERE t0 IS NULL AND day_frame = 0 AND v > 0 AND t > start_ms AND v <= recount_power_w * (t - start_ms) / 3600000 + jitter_wh
  AND t = (SELECT s.first_ms FROM series s WHERE s.series_id = judged.series_id);
