-- What the days look like whose quarters have been learnt: the medians of their quarters, where they differ from what is known.
-- $low_ms, $high_ms: bounds of those days.
-- learnt_day: as series_day
CREATE OR REPLACE TEMP TABLE learnt_day AS
WITH summary AS (
  SELECT
    series_id, (interval_start_ms // 86400000)::INTEGER AS utc_day,
    quantile_disc(power_w, 0.5) AS power_w,
    min(resolution) AS smallest,
    quantile_disc(steps_ms // step_count, 0.5) AS median_ms,
    least(sum(change_count), 20)::INTEGER AS change_count
  FROM series_quarter
  WHERE interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND series_id IN (SELECT series_id FROM context WHERE learns)
  GROUP BY series_id, utc_day
)
SELECT
  series_id, utc_day,
  pow(2, ceil(log2(power_w))) AS power_w,
  round(smallest, (1 - floor(log10(smallest)))::INTEGER) AS resolution,
  CASE WHEN median_ms IS NULL THEN NULL WHEN median_ms >= 60000 THEN (median_ms + 2500) // 5000 * 5000 ELSE greatest(1000, (median_ms + 500) // 1000 * 1000) END AS step_ms,
  change_count
FROM summary
EXCEPT
SELECT series_id, utc_day, power_w, resolution, step_ms, change_count FROM series_day
WHERE utc_day BETWEEN $low_ms::BIGINT // 86400000 AND $high_ms::BIGINT // 86400000;
