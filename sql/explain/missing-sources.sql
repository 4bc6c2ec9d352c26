-- The declared sources of a device ($device) that have no energy on a day ($day).
SELECT s.source FROM declared_source s
WHERE s.device = $device::UUID
  AND NOT EXISTS (SELECT 1 FROM daily_energy d WHERE d.device = s.device AND d.source = s.source AND d.day = $day::DATE)
ORDER BY s.source;
