-- The first batch whose messages the warehouse still has, or the one after the last of all. Columns: batch_id.
SELECT coalesce((SELECT min(batch_id) FROM message), (SELECT max(batch_id) + 1 FROM batch), 0) AS batch_id;
