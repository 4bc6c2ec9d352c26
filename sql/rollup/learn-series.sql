-- What is plausible for each series of which a day looks different now, from all its days: at least 32 times the usual power of its busier
-- days and 50 kW (energy that was real must not be refused), as a power of two so that it seldom changes. Medians, because a register that
-- glitches every day must not teach what its glitches look like; days that hardly change count only where there are no others.
-- relearnt: series_id, learnt_power_w, usual_power_w (of registers that restart every day), resolution, step_ms, only where one that the
-- configuration leaves open has changed
CREATE OR REPLACE TEMP TABLE relearnt AS
WITH learnt AS (
  SELECT
    d.series_id,
    coalesce(quantile_disc(d.power_w, 0.9) FILTER (d.change_count >= 20), quantile_disc(d.power_w, 0.5)) AS usual_power_w,
    -- a handful of values says nothing of the register's steps
    CASE WHEN sum(d.change_count) >= 20 THEN min(d.resolution) END AS resolution,
    quantile_disc(d.step_ms, 0.5) AS step_ms
  FROM series_day d
  WHERE d.series_id IN (SELECT series_id FROM learnt_series)
  GROUP BY d.series_id
), wanted AS (
  SELECT
    l.series_id,
    CASE WHEN t.max_power_w IS NULL AND (t.method <> 'power_curve' OR t.sampling <> 'on_change') THEN greatest(50000, 32 * l.usual_power_w) END AS learnt_power_w,
    CASE WHEN t.max_power_w IS NULL AND t.method = 'daily_energy' THEN l.usual_power_w END AS usual_power_w,
    CASE WHEN t.method IN ('total_energy', 'daily_energy') AND t.jitter_wh IS NULL THEN l.resolution END AS resolution,
    CASE WHEN t.method IN ('power_curve', 'interval_energy') THEN l.step_ms END AS step_ms
  FROM learnt l
  JOIN series s USING (series_id)
  JOIN stream_setting t USING (stream_id)
)
SELECT w.*
FROM wanted w
JOIN series s USING (series_id)
WHERE (w.learnt_power_w, w.usual_power_w, w.resolution, w.step_ms) IS DISTINCT FROM (s.learnt_power_w, s.usual_power_w, s.resolution, s.step_ms);
