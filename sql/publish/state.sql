-- How far the warehouse is, in the snapshot that everything else is read in.
-- created_at_ms: when the warehouse was made; batch_id: the last batch that landed, -1 for none.
SELECT
  (SELECT created_at_ms FROM shard)::DOUBLE AS created_at_ms,
  coalesce((SELECT max(batch_id) FROM batch), -1)::VARCHAR AS batch_id;
