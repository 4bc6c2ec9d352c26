-- Work that a moved limit leaves for later calls of the roll-up.

CREATE TABLE pending_change (
  device UUID NOT NULL,
  series_id INTEGER NOT NULL,
  kind VARCHAR NOT NULL,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  is_new BOOLEAN NOT NULL,
  readings BIGINT NOT NULL,
  reach_ms BIGINT NOT NULL,
  batch_id BIGINT NOT NULL,
  complete_batch_id BIGINT NOT NULL
);
COMMENT ON TABLE pending_change IS 'What is still to be computed by limits that were learnt anew: whole devices, a bounded number in each call of the roll-up. Their intervals and days stay as they were until then, and no batch is taken in';
COMMENT ON COLUMN pending_change.kind IS 'touched (what new readings have touched), learnt (a UTC day whose limits have changed) or arrived (new readings of a quarter of an hour)';
COMMENT ON COLUMN pending_change.from_ms IS 'Event times of the first and the last change';
COMMENT ON COLUMN pending_change.is_new IS 'There are new readings in that time';
COMMENT ON COLUMN pending_change.readings IS 'How many readings there are on a day whose limits have changed; 0 for the other kinds';
COMMENT ON COLUMN pending_change.reach_ms IS 'How far a reading of the series reached by itself before the limits moved, or reaches since, whichever is more';
COMMENT ON COLUMN pending_change.batch_id IS 'The batch of what has arrived, else the last one that was taken in when the limits moved';
COMMENT ON COLUMN pending_change.complete_batch_id IS 'The last batch whose energy was complete before the limits moved';
