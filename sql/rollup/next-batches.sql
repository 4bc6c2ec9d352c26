-- The next batches for the roll-up: as many whole ones as hold at most $messages_max messages, at least one.
-- batch_id: the last of them (null: none are new), newest_id: the newest that has landed, messages: how many they hold
WITH pending AS (
  SELECT batch_id, message_count, sum(message_count) OVER (ORDER BY batch_id) AS total, row_number() OVER (ORDER BY batch_id) AS place
  FROM batch
  WHERE batch_id > (SELECT coalesce(min(batch_id), -1) FROM energy_stream WHERE settings IS NOT NULL)
)
SELECT
  max(batch_id) FILTER (total <= $messages_max::BIGINT OR place = 1) AS batch_id,
  (SELECT max(batch_id) FROM batch) AS newest_id,
  sum(message_count) FILTER (total <= $messages_max::BIGINT OR place = 1)::BIGINT AS messages
FROM pending;
