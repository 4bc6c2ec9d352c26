-- The highest id that a batch of this file has had; its ledger row may be gone.
-- Columns: batch_id.
SELECT
  greatest(
    coalesce((SELECT max(batch_id) FROM batch), 0),
    coalesce((SELECT max(batch_id) FROM checkpoint), 0),
    coalesce((SELECT max(batch_id) FROM progress), 0)
  ) AS batch_id
