-- Which batches have not been looked at yet: those after after_batch_id, up to through_batch_id.
SELECT
  coalesce((SELECT batch_id FROM progress WHERE stage = 'device_status'), -1) AS after_batch_id,
  coalesce((SELECT max(batch_id) FROM batch), -1) AS through_batch_id;
