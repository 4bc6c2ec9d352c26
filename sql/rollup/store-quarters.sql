-- Stores what was learnt of quarters.
INSERT INTO series_quarter (series_id, interval_start_ms, power_w, resolution, steps_ms, step_count, change_count)
SELECT series_id, interval_start_ms, power_w, resolution, steps_ms, step_count, change_count FROM quarter_now
ORDER BY interval_start_ms, series_id;
