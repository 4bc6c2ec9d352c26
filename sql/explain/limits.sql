-- The limits that hold for a series ($series_id) on a UTC day ($utc_day), and what they are learnt from: the days with readings among that day and the 27
-- days before it.
SELECT
  CASE WHEN r.net THEN NULL WHEN is_register(r.method) THEN power_limit(r.max_power_w, l.learnt_power_w) ELSE coalesce(r.max_power_w, l.learnt_power_w) END AS max_power_w,
  l.learnt_power_w,
  CASE WHEN r.max_power_w IS NULL AND l.usual_power_w IS NOT NULL THEN recount_limit(r.max_power_w, l.learnt_power_w, l.usual_power_w) END AS recount_power_w,
  jitter(r.jitter_wh, l.learnt_resolution) AS jitter_wh, r.modulus_wh,
  reading_interval(r.interval_ms, l.learnt_step_ms)::DOUBLE AS interval_ms, max_gap(r.max_gap_ms, l.learnt_step_ms)::DOUBLE AS max_gap_ms, r.net,
  r.max_power_w AS configured_power_w, r.jitter_wh AS configured_jitter_wh, r.interval_ms::DOUBLE AS configured_interval_ms,
  r.max_gap_ms::DOUBLE AS configured_gap_ms,
  l.learnt_resolution AS resolution, l.learnt_step_ms::DOUBLE AS step_ms,
  d.days::INTEGER AS days, d.first_day, d.last_day
FROM series_rule r
LEFT JOIN series_day l ON l.series_id = r.series_id AND l.utc_day = $utc_day
CROSS JOIN (
  SELECT count(*) AS days, ('1970-01-01'::DATE + min(utc_day))::VARCHAR AS first_day, ('1970-01-01'::DATE + max(utc_day))::VARCHAR AS last_day
  FROM series_day WHERE series_id = $series_id AND utc_day BETWEEN $utc_day - limit_days() + 1 AND $utc_day
) AS d
WHERE r.series_id = $series_id;
