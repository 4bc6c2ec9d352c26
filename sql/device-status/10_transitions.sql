-- 10 Transitions: when devices went online and offline.
--
-- Reads   message (kind 1: the state of a device; kind 0: telemetry, which shows that it is alive), batch,
--         progress, device_status, device_state.
-- Writes  device_status (one row for each change of a state), device_state (one row for each device: its last
--         known state), progress, dirty_partition.
-- Why     Devices repeat their state. Only changes are stored.

-- name: find_pending
-- Returns the batches that are not processed yet: after after_batch_id, up to through_batch_id.
SELECT
  coalesce((SELECT batch_id FROM progress WHERE stage = 'device_status'), -1) AS after_batch_id,
  coalesce((SELECT max(batch_id) FROM batch), -1) AS through_batch_id;

-- name: store_transitions
-- Stores the transitions in the device status messages of the batches after $after_batch_id up to
-- $through_batch_id.
INSERT INTO device_status BY NAME
WITH status_message AS (
  -- The messages that say the state of a device.
  SELECT device, try(other->>'state') AS state, try(other->>'reason') AS reason, event_time_ms, store_time_ms,
    stream_offset, batch_id
  FROM message
  WHERE kind = 1 AND batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
    AND try(other->>'state') IS NOT NULL
)
SELECT status_message.device, status_message.state, status_message.reason, status_message.event_time_ms,
  status_message.store_time_ms, status_message.stream_offset, status_message.batch_id
FROM status_message
LEFT JOIN device_state USING (device)
QUALIFY status_message.state IS DISTINCT FROM coalesce(
  lag(status_message.state) OVER (PARTITION BY status_message.device
    ORDER BY status_message.batch_id, status_message.stream_offset),
  device_state.state
)
ORDER BY status_message.batch_id, status_message.stream_offset;

-- name: mark_days
-- Marks the UTC days (by store time) of the transitions in batches after $after_batch_id, so that they are
-- published.
INSERT INTO dirty_partition BY NAME
SELECT DISTINCT 'device_status' AS dataset, make_timestamp_ms(store_time_ms)::DATE::VARCHAR AS partition
FROM device_status
WHERE batch_id > $after_batch_id::BIGINT;

-- name: update_states
-- Updates device_state with the batches after $after_batch_id up to $through_batch_id. The newest data of a
-- device is stored by the minute ($minute_ms), so that its row does not change with every message. A minute
-- after $now_ms is replaced by an earlier one: it was stored before the clock was set back.
MERGE INTO device_state
USING (
  WITH transition AS (
    -- The last change of the state of each device.
    SELECT device, state, event_time_ms, reason
    FROM device_status
    WHERE batch_id > $after_batch_id::BIGINT
    QUALIFY row_number() OVER (PARTITION BY device ORDER BY batch_id DESC, stream_offset DESC) = 1
  ), seen AS (
    -- The newest data of each device in the batches.
    SELECT message.device,
      max(least(message.store_time_ms, batch.landed_at_ms)) // $minute_ms::BIGINT * $minute_ms::BIGINT AS last_seen_ms
    FROM message
    JOIN batch USING (batch_id)
    WHERE message.kind = 0 AND batch.origin = 'stream' AND message.device IS NOT NULL
      AND message.batch_id > $after_batch_id::BIGINT AND message.batch_id <= $through_batch_id::BIGINT
    GROUP BY message.device
  )
  SELECT device, transition.state, transition.event_time_ms AS since_ms, transition.reason, seen.last_seen_ms
  FROM transition FULL JOIN seen USING (device)
) AS news
USING (device)
WHEN MATCHED AND (
  news.state IS NOT NULL OR news.last_seen_ms > coalesce(device_state.last_seen_ms, -1)
  OR device_state.last_seen_ms > $now_ms::BIGINT
) THEN UPDATE SET
  state = coalesce(news.state, device_state.state),
  since_ms = coalesce(news.since_ms, device_state.since_ms),
  reason = CASE WHEN news.state IS NULL THEN device_state.reason ELSE news.reason END,
  last_seen_ms = CASE
    WHEN device_state.last_seen_ms > $now_ms::BIGINT THEN coalesce(news.last_seen_ms, device_state.last_seen_ms)
    ELSE greatest(news.last_seen_ms, device_state.last_seen_ms)
  END
WHEN NOT MATCHED THEN INSERT (device, state, since_ms, reason, last_seen_ms)
  VALUES (news.device, news.state, news.since_ms, news.reason, news.last_seen_ms);

-- name: store_progress
-- Stores the last processed batch ($batch_id) and the time ($now_ms).
MERGE INTO progress USING (SELECT 'device_status' AS stage) AS looked USING (stage)
WHEN MATCHED THEN UPDATE SET batch_id = $batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHEN NOT MATCHED
  THEN INSERT (stage, batch_id, updated_at_ms) VALUES ('device_status', $batch_id::BIGINT, $now_ms::BIGINT);

-- name: count_states
-- Counts the devices in each state; "unknown" if its state is not known. A device that went to sleep, as a
-- solar inverter does at night, is "asleep" while its newest data, or else its message, is not older than
-- $asleep_from_ms. After that it counts as offline, because what works wakes up within a day.
SELECT
  CASE
    WHEN state = 'offline' AND reason = 'asleep' AND coalesce(last_seen_ms, since_ms) >= $asleep_from_ms::BIGINT
      THEN 'asleep'
    ELSE coalesce(state, 'unknown')
  END AS state,
  count(*)::DOUBLE AS devices
FROM device_state
GROUP BY ALL
ORDER BY ALL;
