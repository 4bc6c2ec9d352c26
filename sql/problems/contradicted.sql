-- Devices and sources of which another method contradicts the chosen one on at least two of the newest seven days.
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, d.device::VARCHAR AS device, d.source,
  count(*)::INTEGER AS days, max(d.day)::VARCHAR AS last_day
FROM daily_energy d
JOIN energy_stream e USING (stream_id)
WHERE e.settings IS NOT NULL AND d.flags & 2048 > 0 AND d.day > (SELECT max(day) FROM daily_energy) - 7
GROUP BY position, d.device, d.source
HAVING count(*) >= 2
ORDER BY position, device, d.source
LIMIT 1000;
