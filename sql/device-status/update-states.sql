-- Brings device_state up to date with the batches after $after_batch_id, up to $through_batch_id.
MERGE INTO device_state
USING (
  WITH transition AS (
    SELECT device, state, event_time_ms, reason
    FROM device_status
    WHERE batch_id > $after_batch_id::BIGINT
    QUALIFY row_number() OVER (PARTITION BY device ORDER BY batch_id DESC, stream_offset DESC) = 1
  ), seen AS (
    SELECT m.device, max(m.store_time_ms) // 60000 * 60000 AS last_seen_ms
    FROM message m
    JOIN batch b USING (batch_id)
    WHERE m.kind = 0 AND b.origin = 'stream' AND m.device IS NOT NULL
      AND m.batch_id > $after_batch_id::BIGINT AND m.batch_id <= $through_batch_id::BIGINT
    GROUP BY m.device
  )
  SELECT device, t.state, t.event_time_ms AS since_ms, t.reason, s.last_seen_ms
  FROM transition t FULL JOIN seen s USING (device)
) AS news
USING (device)
WHEN MATCHED AND (news.state IS NOT NULL OR news.last_seen_ms > coalesce(device_state.last_seen_ms, -1)) THEN UPDATE SET
  state = coalesce(news.state, device_state.state),
  since_ms = coalesce(news.since_ms, device_state.since_ms),
  reason = CASE WHEN news.state IS NULL THEN device_state.reason ELSE news.reason END,
  last_seen_ms = greatest(news.last_seen_ms, device_state.last_seen_ms)
WHEN NOT MATCHED THEN INSERT (device, state, since_ms, reason, last_seen_ms)
  VALUES (news.device, news.state, news.since_ms, news.reason, news.last_seen_ms);
