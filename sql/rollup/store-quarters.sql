-- Stores what was learnt from the intervals in context.
INSERT INTO series_quarter (series_id, interval_start_ms, power_w, resolution, step_ms, change_count)
SELECT series_id, interval_start_ms, power_w, resolution, step_ms, change_count FROM quarter_now ORDER BY interval_start_ms, series_id;
