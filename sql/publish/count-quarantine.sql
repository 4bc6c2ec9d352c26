-- How many quarantined messages are new, by month (UTC) of their quarantine: those of the batches after $after_batch_id, up to $through_batch_id.
SELECT strftime(make_timestamp(quarantined_at_ms * 1000), '%Y-%m') AS month, count(*)::DOUBLE AS row_count
FROM quarantine
WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
GROUP BY ALL
ORDER BY ALL;
