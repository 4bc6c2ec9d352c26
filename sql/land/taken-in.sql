-- The last batch that every configured energy stream ($streams: how many there are) has taken in, and the last one whose energy is published;
-- -1 for none.
SELECT
  coalesce(
    (SELECT min(batch_id) FROM energy_stream WHERE settings IS NOT NULL),
    CASE WHEN $streams::INTEGER = 0 THEN (SELECT max(batch_id) FROM batch) END,
    -1
  ) AS rolled_up_batch_id,
  coalesce((SELECT max(batch_id) FROM progress WHERE stage = 'publish'), -1) AS published_batch_id;
