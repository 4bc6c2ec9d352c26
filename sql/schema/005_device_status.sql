-- Which devices are there, from the device status messages and the data that have landed. Written before each publishing, in a
-- transaction of its own that also moves progress (stage device_status).

CREATE TABLE device_status (
  device UUID NOT NULL,
  state VARCHAR NOT NULL,
  reason VARCHAR,
  event_time_ms BIGINT NOT NULL,
  store_time_ms BIGINT NOT NULL,
  stream_offset UBIGINT,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE device_status IS 'Transitions of devices, in the order of the stream: a state that is said again is none. Kept when messages are trimmed';
COMMENT ON COLUMN device_status.device IS 'Device';
COMMENT ON COLUMN device_status.state IS 'online or offline';
COMMENT ON COLUMN device_status.reason IS 'Why, where it was told; timeout and data received are the words of Wattline''s own stream service';
COMMENT ON COLUMN device_status.event_time_ms IS 'When it happened, by whoever told it';
COMMENT ON COLUMN device_status.store_time_ms IS 'When the stream service stored it';
COMMENT ON COLUMN device_status.stream_offset IS 'Position in the stream';
COMMENT ON COLUMN device_status.batch_id IS 'Batch that it landed in';

CREATE TABLE device_state (
  device UUID NOT NULL,
  state VARCHAR,
  since_ms BIGINT,
  reason VARCHAR,
  last_seen_ms BIGINT
);
COMMENT ON TABLE device_state IS 'One row for each device that the stream has ever told anything of: its last transition, and when it was last heard';
COMMENT ON COLUMN device_state.device IS 'Device';
COMMENT ON COLUMN device_state.state IS 'online or offline; null where nobody has ever said it';
COMMENT ON COLUMN device_state.since_ms IS 'Event time of the last transition';
COMMENT ON COLUMN device_state.reason IS 'Reason of the last transition, where it was told';
COMMENT ON COLUMN device_state.last_seen_ms IS 'Store time of the newest telemetry message of the stream, cut to the minute so that the row seldom changes; null where there is none. Imported readings do not count';

COMMENT ON COLUMN dirty_partition.dataset IS 'interval_energy, daily_energy, device_status or quarantine';
COMMENT ON COLUMN dirty_partition.partition IS 'interval_energy: UTC day YYYY-MM-DD; daily_energy: month YYYY-MM of the local day; device_status: UTC day YYYY-MM-DD of the store time; quarantine: any text, where rows were deleted';
