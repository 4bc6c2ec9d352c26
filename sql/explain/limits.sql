-- The rules that hold for a series ($series_id), and what they are learnt from.
SELECT r.max_power_w, r.recount_power_w, r.jitter_wh, r.modulus_wh, r.interval_ms::DOUBLE AS interval_ms, r.max_gap_ms::DOUBLE AS max_gap_ms, r.net,
  t.max_power_w AS configured_power_w, t.jitter_wh AS configured_jitter_wh, t.interval_ms::DOUBLE AS configured_interval_ms,
  t.max_gap_ms::DOUBLE AS configured_gap_ms,
  s.resolution, s.step_ms::DOUBLE AS step_ms,
  d.days::INTEGER AS days, d.usual_power_w, d.first_day, d.last_day
FROM series_rule r
JOIN stream_setting t USING (stream_id)
JOIN series s USING (series_id)
CROSS JOIN (
  SELECT count(*) AS days, coalesce(quantile_disc(power_w, 0.9) FILTER (change_count >= 20), quantile_disc(power_w, 0.5)) AS usual_power_w,
    ('1970-01-01'::DATE + min(utc_day))::VARCHAR AS first_day, ('1970-01-01'::DATE + max(utc_day))::VARCHAR AS last_day
  FROM series_day WHERE series_id = $series_id
) AS d
WHERE r.series_id = $series_id;
