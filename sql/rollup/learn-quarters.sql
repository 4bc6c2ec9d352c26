-- What the steps look like that end in the intervals in context, of the series that have something to learn: the least power of a
-- growing step (a fault can only show more), or the most that two samples of power in a row agree on; the time between readings; and the
-- resolution: the largest power of ten (Wh) that all values are multiples of, or the smallest growth where that is less.
-- $low_ms, $high_ms: bounds of the context.
-- quarter_now: as series_quarter
CREATE OR REPLACE TEMP TABLE quarter_now AS
WITH seen AS (
  SELECT
    s.series_id, s.t1 // 900000 * 900000 AS interval_start_ms,
    CASE any_value(c.method)
      WHEN 'power_curve' THEN max(least(abs(s.v0), abs(s.v1)))
      WHEN 'interval_energy' THEN max(least(abs(s.v0), abs(s.v1)) * 3600000 / (s.t1 - s.t0))
      ELSE min(CASE WHEN s.v1 > s.v0 THEN (s.v1 - s.v0) * 3600000 / (s.t1 - s.t0) END)
    END AS power_w,
    least(
      min(CASE
        WHEN c.method NOT IN ('total_energy', 'daily_energy') THEN NULL
        WHEN abs(s.v1 - round(s.v1, 2)) >= 1e-6 THEN 0.001
        WHEN abs(s.v1 - round(s.v1, 1)) >= 1e-6 THEN 0.01
        WHEN abs(s.v1 - round(s.v1)) >= 1e-6 THEN 0.1
        WHEN abs(s.v1 - round(s.v1, -1)) >= 1e-6 THEN 1
        WHEN abs(s.v1 - round(s.v1, -2)) >= 1e-6 THEN 10
        WHEN abs(s.v1 - round(s.v1, -3)) >= 1e-6 THEN 100
        ELSE 1000
      END),
      min(CASE WHEN s.v1 - s.v0 > 1e-6 THEN s.v1 - s.v0 END)) AS resolution,
    sum(s.t1 - s.t0)::BIGINT AS steps_ms,
    count(*)::INTEGER AS step_count,
    sum((s.v1 <> s.v0)::INTEGER)::INTEGER AS change_count
  FROM raw_step s
  JOIN context c USING (series_id)
  WHERE c.learns AND s.t0 IS NOT NULL AND s.t1 >= c.lo_ms AND s.t1 < c.hi_ms
  GROUP BY s.series_id, s.t1 // 900000
)
-- where a series goes on inside a quarter, what is known of that quarter counts too
SELECT n.series_id, n.interval_start_ms,
  CASE WHEN q.method IN ('power_curve', 'interval_energy') THEN greatest(n.power_w, q.power_w) ELSE least(n.power_w, q.power_w) END AS power_w,
  least(n.resolution, q.resolution) AS resolution,
  n.steps_ms + coalesce(q.steps_ms, 0) AS steps_ms, n.step_count + coalesce(q.step_count, 0) AS step_count,
  n.change_count + coalesce(q.change_count, 0) AS change_count
FROM seen n
LEFT JOIN (
  SELECT q.*, c.method FROM series_quarter q JOIN context c ON c.resumes AND c.series_id = q.series_id AND c.lo_ms = q.interval_start_ms
  WHERE q.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
) AS q ON q.series_id = n.series_id AND q.interval_start_ms = n.interval_start_ms;
