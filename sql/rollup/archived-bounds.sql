-- The event times of messages of the lake that are read again with the batches up to $upto; null where there are none.
SELECT min(event_time_ms) AS low_ms, max(event_time_ms) AS high_ms FROM archived_message WHERE batch_id <= $upto::BIGINT;
