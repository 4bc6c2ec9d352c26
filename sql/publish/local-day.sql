-- The local days of the workgroup from the first to the last that has energy, with their bounds. Temp table declared_day: from the tz database.
SELECT day, make_timestamptz(start_ms * 1000) AS day_start, make_timestamptz(end_ms * 1000) AS day_end
FROM declared_day WHERE start_ms < end_ms ORDER BY day
