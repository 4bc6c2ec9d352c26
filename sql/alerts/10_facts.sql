-- 10 Facts: what the conditions of alerts are judged by.
--
-- Reads   device_state, gap, batch, budget, daily_energy, daily_energy_history, quality_flag.
-- Writes  nothing. At most $rows_max rows of each statement; energy in Wh, instants in ms since 1970.
-- Why     An owner of a plant must learn of a problem without looking.

-- name: list_last_seen
-- Returns the devices that have sent data, with the minute of their newest data.
SELECT device::VARCHAR AS device, last_seen_ms::DOUBLE AS last_seen_ms FROM device_state
WHERE last_seen_ms IS NOT NULL
ORDER BY device
LIMIT $rows_max::BIGINT;

-- name: list_open_gaps
-- Returns the open gaps, the newest first.
SELECT gap_id::DOUBLE AS gap_id, reason, from_time_ms::DOUBLE AS from_ms, to_time_ms::DOUBLE AS to_ms FROM gap
WHERE closed_at_ms IS NULL
ORDER BY gap_id DESC
LIMIT $rows_max::BIGINT;

-- name: count_facts
-- Counts the messages of the stream in the hour before $now_ms, the versions since $since_ms, and the budgets that count. computed_at_ms: when a day
-- was last computed; null if there is none.
SELECT messages, quarantined,
  (SELECT max(computed_at_ms) FROM daily_energy)::DOUBLE AS computed_at_ms,
  (SELECT count(*) FROM daily_energy_history WHERE status = 'restated' AND computed_at_ms >= $since_ms::BIGINT)::DOUBLE AS restated,
  (SELECT count(*) FROM budget WHERE replaced_by IS NULL)::DOUBLE AS budgets
FROM (
  SELECT coalesce(sum(message_count), 0)::DOUBLE AS messages, coalesce(sum(quarantined_count), 0)::DOUBLE AS quarantined
  FROM batch
  WHERE origin = 'stream' AND landed_at_ms > $now_ms::BIGINT - 3600000
);

-- name: list_idle_days
-- Returns the devices and sources that report on $day (coverage of at least $coverage_min) and have 0 Wh, with the number of other devices that have
-- energy of the same source (siblings). They are at least the share $share_min of the others.
WITH of_day AS (
  SELECT day, device, source, energy_wh, coverage FROM daily_energy WHERE day = $day::DATE
),
by_source AS (
  SELECT source, count(*) AS devices, count(*) FILTER (energy_wh > 0) AS producing FROM of_day GROUP BY source
)
SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, producing::DOUBLE AS siblings
FROM of_day JOIN by_source USING (source)
WHERE energy_wh = 0 AND coverage >= $coverage_min::DOUBLE AND producing > 0 AND producing >= $share_min::DOUBLE * (devices - 1)
ORDER BY device, source
LIMIT $rows_max::BIGINT;

-- name: list_thin_days
-- Returns final days since $since_day that readings do not cover completely, the newest first.
SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, coverage FROM daily_energy
WHERE day >= $since_day::DATE AND status <> 'provisional' AND coverage < 1
ORDER BY day DESC, device, source
LIMIT $rows_max::BIGINT;

-- name: list_flagged_days
-- Returns the days since $since_day with each of their flags, the newest first. Partial days have conditions of their own.
SELECT d.day::VARCHAR AS day, d.device::VARCHAR AS device, d.source, q.flag
FROM daily_energy d
JOIN quality_flag q ON d.flags & q.bit <> 0
WHERE d.day >= $since_day::DATE AND q.flag NOT IN ('partial', 'estimated', 'jitter', 'gap')
ORDER BY d.day DESC, device, d.source, q.flag
LIMIT $rows_max::BIGINT;

-- name: list_restated_days
-- Returns the versions since $since_ms of days that were final, with the energy before and after; null if there is none. The newest first.
SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, version, computed_at_ms::DOUBLE AS computed_at_ms,
  before_wh::DOUBLE AS before_wh, energy_wh::DOUBLE AS after_wh
FROM (
  SELECT *, lag(energy_wh) OVER (PARTITION BY day, device, source ORDER BY version) AS before_wh
  FROM daily_energy_history
  WHERE (day, device, source) IN (
    SELECT (day, device, source) FROM daily_energy_history WHERE status = 'restated' AND computed_at_ms >= $since_ms::BIGINT
  )
)
WHERE status = 'restated' AND computed_at_ms >= $since_ms::BIGINT AND before_wh IS DISTINCT FROM energy_wh
ORDER BY computed_at_ms DESC, day DESC, device, source
LIMIT $rows_max::BIGINT;
