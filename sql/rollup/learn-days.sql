-- What the days look like whose quarters have been learnt: the medians of their quarters, where they differ from what is known.
-- Power tells more of what is possible than the growth of a register does: a quarter of what the second busiest quarter of an hour needs.
-- A lifetime register that hardly grows would learn from its faults, which most quarters are then in which it rises: its limit (32 times
-- this, see learn-series) is no more than twice what it takes for all that the day has brought to come in one quarter; a day that has
-- brought nothing teaches nothing. Looked at where the median would raise the limit beyond what it is at least.
-- $low_ms, $high_ms: bounds of those days.
-- learnt_day: as series_day
CREATE OR REPLACE TEMP TABLE learnt_day AS
WITH summary AS (
  SELECT
    series_id, (interval_start_ms // 86400000)::INTEGER AS utc_day,
    CASE WHEN any_value(c.method) IN ('power_curve', 'interval_energy') THEN nullif(max(power_w, 2)[2], 0) / 4 ELSE quantile_disc(power_w, 0.5) END AS power_w,
    min(interval_start_ms) AS first_ms, max(interval_start_ms) AS last_ms, sum(step_count) AS step_count,
    min(resolution) AS smallest,
    quantile_disc(steps_ms // step_count, 0.5) AS median_ms,
    least(sum(change_count), 20)::INTEGER AS change_count
  FROM series_quarter JOIN (SELECT series_id, method FROM context WHERE learns) AS c USING (series_id)
  WHERE interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  GROUP BY series_id, utc_day
), at_once AS (
  SELECT series_id, utc_day, (last_value - first_value) * 4 * 2 / 32 AS power_w
  FROM (
    SELECT r.series_id, s.utc_day,
      -- Medians, because a fault may stand at either end.
      list_aggregate(arg_min(r.value, r.event_time_ms, 5), 'quantile_disc', 0.5) AS first_value,
      list_aggregate(arg_max(r.value, r.event_time_ms, 5), 'quantile_disc', 0.5) AS last_value
    FROM summary s
    JOIN series_rule rule ON rule.series_id = s.series_id AND rule.method = 'total_energy' AND NOT rule.net AND rule.modulus_wh IS NULL
    JOIN reading r ON r.series_id = s.series_id AND (r.event_time_ms // 86400000)::INTEGER = s.utc_day
    WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND s.step_count >= 23 AND 32 * s.power_w > 50000
      AND (r.event_time_ms - s.first_ms < 18000000 OR s.last_ms - r.event_time_ms < 18000000)
    GROUP BY r.series_id, s.utc_day
  )
  WHERE last_value >= first_value
)
SELECT
  series_id, utc_day,
  pow(2, ceil(log2(CASE WHEN a.power_w = 0 THEN NULL ELSE least(s.power_w, a.power_w) END))) AS power_w,
  round(smallest, (1 - floor(log10(smallest)))::INTEGER) AS resolution,
  CASE WHEN median_ms IS NULL THEN NULL WHEN median_ms >= 60000 THEN (median_ms + 2500) // 5000 * 5000 ELSE greatest(1000, (median_ms + 500) // 1000 * 1000) END AS step_ms,
  change_count
FROM summary s
LEFT JOIN at_once a USING (series_id, utc_day)
EXCEPT
SELECT series_id, utc_day, power_w, resolution, step_ms, change_count FROM series_day
WHERE utc_day BETWEEN $low_ms::BIGINT // 86400000 AND $high_ms::BIGINT // 86400000;
