-- Notes the days of the devices and sources in context.
INSERT INTO touched_day
SELECT DISTINCT r.device, r.source, d.day, d.start_ms, d.end_ms
FROM context c
JOIN series_rule r USING (series_id)
JOIN local_day d ON d.start_ms < c.hi_ms AND d.end_ms > c.lo_ms
EXCEPT SELECT * FROM touched_day;
