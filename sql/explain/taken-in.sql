-- The last batch that a roll-up has taken in, and how many have landed since.
SELECT t.batch_id::VARCHAR AS batch, (SELECT count(*) FROM batch b WHERE b.batch_id > coalesce(t.batch_id, -1))::DOUBLE AS waiting
FROM (SELECT max(after_batch) AS batch_id FROM stream_setting) AS t;
