-- When the readings of some batches ($batches) were measured, and of how many devices; null where there are none.
-- From the messages, or, where these are no longer kept, from the readings that count.
WITH own AS (
  SELECT event_time_ms, device FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
  UNION ALL
  SELECT r.event_time_ms, s.device FROM reading r JOIN series s USING (series_id) WHERE r.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT min(event_time_ms)::DOUBLE AS first_ms, max(event_time_ms)::DOUBLE AS last_ms, count(DISTINCT device)::DOUBLE AS devices FROM own;
