-- The noted days between the bounds with what is chosen of their candidates. $low_ms, $high_ms: as in day-candidates.
-- day_now: day, device, source, energy_wh, method, stream_id, flags, coverage, end_ms; energy_wh is null where nothing is known any more
CREATE OR REPLACE TEMP TABLE day_now AS
WITH incomplete AS (
  SELECT DISTINCT t.device, t.day
  FROM touched_day t JOIN declared_source s USING (device, source)
  WHERE NOT EXISTS (SELECT 1 FROM day_candidate c WHERE c.device = t.device AND c.source = t.source AND c.day = t.day)
)
SELECT t.day, t.device, t.source, c.energy_wh, c.method, c.stream_id,
  (c.flags | CASE WHEN c.estimated THEN 1 ELSE 0 END | CASE WHEN c.coverage < 0.999 THEN 128 ELSE 0 END
    | CASE WHEN n.device IS NOT NULL AND s.device IS NOT NULL THEN 256 ELSE 0 END
    | CASE WHEN o.device IS NOT NULL THEN 2048 ELSE 0 END)::USMALLINT AS flags,
  round(c.coverage, 4) AS coverage,
  t.end_ms
FROM touched_day t
LEFT JOIN day_candidate c ON c.device = t.device AND c.source = t.source AND c.day = t.day AND c.place = 1
LEFT JOIN incomplete n ON n.device = t.device AND n.day = t.day
LEFT JOIN (SELECT DISTINCT device, source, day FROM day_contradiction) AS o ON o.device = t.device AND o.source = t.source AND o.day = t.day
LEFT JOIN declared_source s ON s.device = t.device AND s.source = t.source
WHERE t.start_ms >= $low_ms::BIGINT AND t.end_ms <= $high_ms::BIGINT;
