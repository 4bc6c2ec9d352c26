-- Devices wait in pending_change for two reasons now, and new batches are rolled up in between.

COMMENT ON TABLE pending_change IS 'Work that is left to later calls of the roll-up, because limits have changed or silences are long. Until then the days of these devices stay the same';
COMMENT ON COLUMN pending_change.batch_id IS 'The batch of the new readings; for the other kinds the last batch when the work was left';
COMMENT ON COLUMN pending_change.complete_batch_id IS 'The last batch whose energy was complete before the work was left';
