-- How many readings of some batches ($batches) count, by the configured energy stream that reads them. A reading that another one of the same
-- device, source and instant replaces does not count.
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, count(*)::DOUBLE AS readings
FROM reading r
JOIN series s USING (series_id)
JOIN energy_stream e USING (stream_id)
WHERE r.batch_id IN (SELECT unnest($batches::BIGINT[])) AND e.settings IS NOT NULL
GROUP BY position
ORDER BY position;
