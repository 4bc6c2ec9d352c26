-- The days of the devices and sources in context.
-- touched_day: device, source, day, start_ms, end_ms
CREATE OR REPLACE TEMP TABLE touched_day AS
SELECT DISTINCT r.device, r.source, d.day, d.start_ms, d.end_ms
FROM context c
JOIN series_rule r USING (series_id)
JOIN local_day d ON d.start_ms < c.hi_ms AND d.end_ms > c.lo_ms;
