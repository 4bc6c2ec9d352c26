-- Registers that, within the newest 30 days, have gone on at a thousandth or at a thousand times of what they showed, within 1 %: the last time
-- of each. value_before, value_after: Wh.
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, s.device::VARCHAR AS device, s.source,
  max(v.to_ms)::DOUBLE AS at_ms, max_by(v.value_before, v.to_ms) AS value_before, max_by(v.value_after, v.to_ms) AS value_after
FROM energy_event v
JOIN series s USING (series_id)
JOIN energy_stream e USING (stream_id)
WHERE e.settings IS NOT NULL AND v.kind IN ('reset', 'rebase') AND v.to_ms > (SELECT max(last_ms) FROM series) - 2592000000
  AND least(v.value_before, v.value_after) >= 100
  AND (v.value_after / v.value_before BETWEEN 0.00099 AND 0.00101 OR v.value_after / v.value_before BETWEEN 990 AND 1010)
GROUP BY ALL
ORDER BY position, device, s.source
LIMIT 1000;
