-- 10 Facts: what the conditions of alerts are judged by.
--
-- Reads   device_state, message, batch, progress, gap, budget, daily_energy, daily_energy_history,
--         quality_flag.
-- Writes  nothing. At most $rows_max rows of each statement; energy in Wh, instants in ms since 1970.
-- Why     An owner of a plant must learn of a problem without looking.

-- name: list_last_seen
-- Returns the devices that have sent data, with the minute ($minute_ms) of their newest data. device_state
-- follows with a publication. So newer batches are read too, because after a pause of the service a device is
-- not silent before its messages are published. Store times after the clock do not count, as in device_state.
WITH newer AS (
  -- The newest data of each device in the batches that device_state does not have yet.
  SELECT message.device,
    max(least(message.store_time_ms, batch.landed_at_ms)) // $minute_ms::BIGINT * $minute_ms::BIGINT AS last_seen_ms
  FROM message
  JOIN batch USING (batch_id)
  WHERE message.kind = 0 AND batch.origin = 'stream'
    AND message.batch_id > coalesce((SELECT batch_id FROM progress WHERE stage = 'device_status'), -1)
  GROUP BY message.device
)
SELECT device_state.device::VARCHAR AS device,
  greatest(device_state.last_seen_ms, newer.last_seen_ms)::DOUBLE AS last_seen_ms
FROM device_state
LEFT JOIN newer USING (device)
WHERE device_state.last_seen_ms IS NOT NULL
ORDER BY device_state.device
LIMIT $rows_max::BIGINT;

-- name: list_open_gaps
-- Returns the open gaps, the newest first.
SELECT gap_id::DOUBLE AS gap_id, reason, from_time_ms::DOUBLE AS from_ms, to_time_ms::DOUBLE AS to_ms FROM gap
WHERE closed_at_ms IS NULL
ORDER BY gap_id DESC
LIMIT $rows_max::BIGINT;

-- name: count_facts
-- Counts what alerts compare. $landed_after_ms: messages that landed after it are counted. $since_ms:
-- versions of days since then are counted.
-- Columns:
--   messages, quarantined   messages of the stream
--   computed_at_ms          when a day was last computed; null if no day has energy
--   restated                versions that differ from a final version
--   budgets                 budgets that no later upload has replaced
SELECT messages, quarantined,
  (SELECT max(computed_at_ms) FROM daily_energy)::DOUBLE AS computed_at_ms,
  (
    SELECT count(*) FROM daily_energy_history WHERE status = 'restated' AND computed_at_ms >= $since_ms::BIGINT
  )::DOUBLE AS restated,
  (SELECT count(*) FROM budget WHERE replaced_by IS NULL)::DOUBLE AS budgets
FROM (
  SELECT coalesce(sum(message_count), 0)::DOUBLE AS messages, coalesce(sum(quarantined_count), 0)::DOUBLE AS quarantined
  FROM batch
  WHERE origin = 'stream' AND landed_at_ms > $landed_after_ms::BIGINT
);

-- name: list_sources
-- Returns the devices and sources of $day.
SELECT device::VARCHAR AS device, source FROM daily_energy WHERE day = $day::DATE
ORDER BY device, source
LIMIT $rows_max::BIGINT;

-- name: list_idle_days
-- Returns the devices and sources that report on $day (coverage of at least $coverage_min) and have 0 Wh,
-- with the number of other devices that are like them and have energy (siblings). They are at least the share
-- $share_min of the others. $roles: JSON array of { device, source, role }. Sources that produce are alike,
-- and sources of one name without a role. Other roles can rest for a day: a battery, a meter at the grid, a
-- consumer.
WITH role AS (
  -- The configured roles of sources.
  SELECT unnest(from_json($roles, '[{"device": "UUID", "source": "VARCHAR", "role": "VARCHAR"}]'), recursive := true)
), of_day AS (
  -- The sources of the day that are compared. kind: sources of the same kind are alike.
  SELECT daily_energy.day, daily_energy.device, daily_energy.source, daily_energy.energy_wh, daily_energy.coverage,
    coalesce('role ' || role.role, 'source ' || daily_energy.source) AS kind
  FROM daily_energy
  LEFT JOIN role ON role.device = daily_energy.device AND role.source = daily_energy.source
  WHERE daily_energy.day = $day::DATE AND coalesce(role.role, 'production') = 'production'
), by_device AS (
  -- Whether a device has energy, for each kind of its sources.
  SELECT kind, device, coalesce(max(energy_wh), 0) > 0 AS produces FROM of_day GROUP BY kind, device
), by_kind AS (
  -- How many devices have sources of each kind, and how many of them have energy.
  SELECT kind, count(*) AS devices, count(*) FILTER (produces) AS producing FROM by_device GROUP BY kind
), idle AS (
  -- The sources without energy, with the number of other devices of their kind, and of those with energy.
  SELECT day, device, source, devices - 1 AS others, producing - produces::INTEGER AS siblings
  FROM of_day
  JOIN by_device USING (kind, device)
  JOIN by_kind USING (kind)
  WHERE energy_wh = 0 AND coverage >= $coverage_min::DOUBLE
)
SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, siblings::DOUBLE AS siblings FROM idle
WHERE siblings > 0 AND siblings >= $share_min::DOUBLE * others
ORDER BY device, source
LIMIT $rows_max::BIGINT;

-- name: list_thin_days
-- Returns final days since $since_day that readings do not cover completely, the newest first.
SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, coverage FROM daily_energy
WHERE day >= $since_day::DATE AND status <> 'provisional' AND coverage < 1
ORDER BY day DESC, device, source
LIMIT $rows_max::BIGINT;

-- name: list_flagged_days
-- Returns the days since $since_day with each of their flags, the newest first. Partial days have conditions
-- of their own.
SELECT daily_energy.day::VARCHAR AS day, daily_energy.device::VARCHAR AS device, daily_energy.source, quality_flag.flag
FROM daily_energy
JOIN quality_flag ON daily_energy.flags & quality_flag.bit <> 0
WHERE daily_energy.day >= $since_day::DATE AND quality_flag.flag NOT IN ('partial', 'estimated', 'jitter', 'gap')
ORDER BY daily_energy.day DESC, device, daily_energy.source, quality_flag.flag
LIMIT $rows_max::BIGINT;

-- name: list_restated_days
-- Returns the versions since $since_ms of days that were final, with the energy before and after; null if
-- there is none. The newest first.
SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, version, computed_at_ms::DOUBLE AS computed_at_ms,
  before_wh::DOUBLE AS before_wh, energy_wh::DOUBLE AS after_wh
FROM (
  SELECT *, lag(energy_wh) OVER (PARTITION BY day, device, source ORDER BY version) AS before_wh
  FROM daily_energy_history
  WHERE (day, device, source) IN (
    SELECT (day, device, source)
    FROM daily_energy_history
    WHERE status = 'restated' AND computed_at_ms >= $since_ms::BIGINT
  )
)
WHERE status = 'restated' AND computed_at_ms >= $since_ms::BIGINT AND before_wh IS DISTINCT FROM energy_wh
ORDER BY computed_at_ms DESC, day DESC, device, source
LIMIT $rows_max::BIGINT;
