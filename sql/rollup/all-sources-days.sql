-- Notes the days also of the other sources that the devices are declared to have: whether one is missing shows on the days of all.
INSERT INTO touched_day
SELECT t.device, s.source, t.day, t.start_ms, t.end_ms
FROM touched_day t JOIN declared_source s USING (device)
WHERE t.source IN (SELECT d.source FROM declared_source d WHERE d.device = t.device)
EXCEPT SELECT * FROM touched_day;
