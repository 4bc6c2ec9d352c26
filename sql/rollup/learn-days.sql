-- What the touched series look like on the touched UTC days: usual power, resolution, usual time between readings.
-- Only steps inside a day count. The resolution is the largest power of ten (Wh) that all values are multiples of, or the smallest
-- growth where that is less. $low_ms, $high_ms: bounds of the touched days.
-- learnt_day: series_id, utc_day, typical_power_w, resolution (Wh, two significant digits), step_ms, value_count (distinct)
CREATE OR REPLACE TEMP TABLE learnt_day AS
WITH touched AS (
  SELECT DISTINCT series_id, (event_time_ms // 86400000)::INTEGER AS utc_day FROM incoming
), step AS (
  SELECT
    t.series_id, t.utc_day,
    r.value,
    r.value - lag(r.value) OVER w AS growth,
    CASE
      WHEN abs(r.value - round(r.value, -3)) < 1e-6 THEN 1000
      WHEN abs(r.value - round(r.value, -2)) < 1e-6 THEN 100
      WHEN abs(r.value - round(r.value, -1)) < 1e-6 THEN 10
      WHEN abs(r.value - round(r.value)) < 1e-6 THEN 1
      WHEN abs(r.value - round(r.value, 1)) < 1e-6 THEN 0.1
      WHEN abs(r.value - round(r.value, 2)) < 1e-6 THEN 0.01
      ELSE 0.001
    END AS grain,
    r.event_time_ms - lag(r.event_time_ms) OVER w AS step_ms
  FROM reading r
  JOIN touched t ON t.series_id = r.series_id AND t.utc_day = r.event_time_ms // 86400000
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  WINDOW w AS (PARTITION BY t.series_id, t.utc_day ORDER BY r.event_time_ms)
), summary AS (
  SELECT
    series_id, utc_day,
    quantile_disc(growth * 3600000 / step_ms, 0.5) FILTER (growth > 0) AS typical_power_w,
    least(min(grain), min(growth) FILTER (growth > 1e-6)) AS smallest,
    quantile_disc(step_ms, 0.5) AS median_ms,
    count(DISTINCT value) AS value_count
  FROM step
  GROUP BY series_id, utc_day
)
SELECT
  series_id, utc_day, typical_power_w,
  round(smallest, (1 - floor(log10(smallest)))::INTEGER) AS resolution,
  CASE WHEN median_ms IS NULL THEN NULL WHEN median_ms >= 60000 THEN (median_ms + 2500) // 5000 * 5000 ELSE greatest(1000, (median_ms + 500) // 1000 * 1000) END AS step_ms,
  value_count
FROM summary;
