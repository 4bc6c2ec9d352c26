-- Stores what was learnt from days.
INSERT INTO series_day (series_id, utc_day, power_w, resolution, step_ms, change_count)
SELECT series_id, utc_day, power_w, resolution, step_ms, change_count FROM learnt_day;
