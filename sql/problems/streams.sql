-- The configured energy streams in their order, with how many devices and sources each has readings of, and the highest index that the
-- intervals of the newest 30 days of readings show (Wh; null where there is none).
SELECT
  json_extract(e.settings, '$.position')::INTEGER AS position,
  count(DISTINCT s.series_id)::INTEGER AS series_count,
  max(i.last_value) AS highest_wh
FROM energy_stream e
LEFT JOIN series s USING (stream_id)
LEFT JOIN interval_energy i ON i.series_id = s.series_id AND i.interval_start_ms > (SELECT max(last_ms) FROM series) - 2592000000
  AND json_extract(e.settings, '$.modulus') IS NOT NULL
WHERE e.settings IS NOT NULL
GROUP BY position
ORDER BY position;
