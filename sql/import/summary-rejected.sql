-- Readings of some batches ($batches) that were rejected, by field and reason. Several energy streams may reject one reading: it counts once.
SELECT field, reason, count(DISTINCT stream_offset)::DOUBLE AS readings
FROM quarantine
WHERE stage = 'rollup' AND batch_id IN (SELECT unnest($batches::BIGINT[]))
GROUP BY field, reason
ORDER BY field, reason;
