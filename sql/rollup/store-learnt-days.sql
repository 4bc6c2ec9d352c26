-- Stores what was learnt from the touched days.
INSERT INTO series_day (series_id, utc_day, typical_power_w, resolution, step_ms, value_count)
SELECT series_id, utc_day, typical_power_w, resolution, step_ms, value_count FROM learnt_day;
