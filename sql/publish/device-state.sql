-- The last known state of each device, and when it was last heard.
SELECT
  device,
  coalesce(state, 'unknown') AS state,
  make_timestamptz(since_ms * 1000) AS since,
  reason,
  make_timestamptz(last_seen_ms * 1000) AS last_seen
FROM device_state
ORDER BY device
