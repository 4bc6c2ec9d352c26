-- Lifetime registers that have covered at least a day of the newest seven and not grown, beside power that has: of the same device and source.
WITH week AS (
  SELECT s.device, s.source, e.settings, s.resolution, sum(i.energy_wh) AS energy_wh, sum(i.covered_ms) AS covered_ms
  FROM interval_energy i
  JOIN series s USING (series_id)
  JOIN energy_stream e USING (stream_id)
  WHERE e.settings IS NOT NULL AND i.interval_start_ms > (SELECT max(last_ms) FROM series) - 604800000
  GROUP BY ALL
)
SELECT json_extract(register.settings, '$.position')::INTEGER AS position, register.device::VARCHAR AS device, register.source,
  power.energy_wh::DOUBLE AS power_wh
FROM week register
JOIN week power ON power.device = register.device AND power.source = register.source
WHERE json_extract_string(register.settings, '$.method') = 'total_energy' AND json_extract_string(power.settings, '$.method') = 'power_curve'
  AND register.energy_wh = 0 AND register.covered_ms >= 86400000 AND power.energy_wh > greatest(1000, 20 * coalesce(register.resolution, 0))
ORDER BY position, device, register.source
LIMIT 1000;
