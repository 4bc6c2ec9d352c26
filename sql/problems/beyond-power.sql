-- Devices and sources of which at least one in twenty of the newest week's quarter hours has readings that are impossible by the configured
-- maxPower: spikes (32) or rebases (8).
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, s.device::VARCHAR AS device, s.source,
  json_extract(e.settings, '$.maxPower')::DOUBLE AS power_w,
  count(*) FILTER (i.flags & 40 > 0)::INTEGER AS beyond, count(*)::INTEGER AS intervals
FROM interval_energy i
JOIN series s USING (series_id)
JOIN energy_stream e USING (stream_id)
WHERE json_extract(e.settings, '$.maxPower') IS NOT NULL AND i.interval_start_ms > (SELECT max(last_ms) FROM series) - 604800000
GROUP BY ALL
HAVING beyond >= 4 AND beyond >= 0.05 * intervals
ORDER BY position, device, source
LIMIT 1000;
