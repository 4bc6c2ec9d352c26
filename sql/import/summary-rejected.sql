-- Readings of imports ($batches: their batches) that were rejected, by field and reason. Several energy streams may reject one reading: it counts once.
SELECT field, reason, sum(readings)::DOUBLE AS readings
FROM rejected_reading
WHERE import_id IN (SELECT DISTINCT unnest($batches::BIGINT[]) // 1000000000)
GROUP BY field, reason
ORDER BY field, reason;
