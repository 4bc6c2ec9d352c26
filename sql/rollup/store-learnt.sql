-- Stores what was learnt anew about series.
UPDATE series SET learnt_power_w = r.learnt_power_w, usual_power_w = r.usual_power_w, resolution = r.resolution, step_ms = r.step_ms
FROM relearnt r WHERE r.series_id = series.series_id;
