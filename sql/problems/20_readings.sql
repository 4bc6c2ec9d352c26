-- 20 Readings: newest readings that contradict the configured rules.
--
-- Reads   series, energy_stream, interval_energy, daily_energy, energy_event.
-- Writes  nothing. Returns one row for each device and source with a problem, at most $rows_max; position: of
--         its energy stream in the configuration.
-- Why     A wrong method, unit or limit gives wrong energy every day. A person has to change the
--         configuration.

-- name: find_still_registers
-- Returns lifetime registers that have covered at least $covered_min_ms of the newest $newest_ms without
-- growing, although power of the same device and source has more than $power_min_wh and more than
-- $resolutions_min times the register's resolution.
WITH week AS (
  -- The sums of each series over the newest time.
  SELECT series.device, series.source, energy_stream.settings, series.resolution,
    sum(interval_energy.energy_wh) AS energy_wh,
    sum(interval_energy.covered_ms) AS covered_ms
  FROM interval_energy
  JOIN series USING (series_id)
  JOIN energy_stream USING (stream_id)
  WHERE energy_stream.settings IS NOT NULL
    AND interval_energy.interval_start_ms > (SELECT max(last_ms) FROM series) - $newest_ms::BIGINT
  GROUP BY ALL
)
SELECT json_extract(register.settings, '$.position')::INTEGER AS position, register.device::VARCHAR AS device,
  register.source, power.energy_wh::DOUBLE AS power_wh
FROM week AS register
JOIN week AS power ON power.device = register.device AND power.source = register.source
WHERE json_extract_string(register.settings, '$.method') = 'total_energy'
  AND json_extract_string(power.settings, '$.method') = 'power_curve'
  AND register.energy_wh = 0 AND register.covered_ms >= $covered_min_ms::BIGINT
  AND power.energy_wh > greatest($power_min_wh::DOUBLE, $resolutions_min::DOUBLE * coalesce(register.resolution, 0))
ORDER BY position, device, register.source
LIMIT $rows_max::BIGINT;

-- name: find_beyond_power
-- Returns devices and sources with readings beyond the configured maxPower ($beyond_flags: bits of spike and
-- rebase) in at least the share $share_min (0 to 1) of the intervals of the newest $newest_ms, and in at
-- least $intervals_min of them.
SELECT json_extract(energy_stream.settings, '$.position')::INTEGER AS position, series.device::VARCHAR AS device,
  series.source,
  json_extract(energy_stream.settings, '$.maxPower')::DOUBLE AS power_w,
  count(*) FILTER (interval_energy.flags & $beyond_flags::INTEGER > 0)::INTEGER AS beyond,
  count(*)::INTEGER AS intervals
FROM interval_energy
JOIN series USING (series_id)
JOIN energy_stream USING (stream_id)
WHERE json_extract(energy_stream.settings, '$.maxPower') IS NOT NULL
  AND interval_energy.interval_start_ms > (SELECT max(last_ms) FROM series) - $newest_ms::BIGINT
GROUP BY ALL
HAVING beyond >= $intervals_min::INTEGER AND beyond >= $share_min::DOUBLE * intervals
ORDER BY position, device, source
LIMIT $rows_max::BIGINT;

-- name: find_unit_changes
-- Returns registers that, within the newest $newest_ms, continued at $factor_kilo times their value or a part
-- of it, within the share $tolerance_share; or at $factor times or a part, if they are left out since. Only
-- the last such change. $forever_ms: the end of an event that has no end yet.
-- Columns:
--   position, device, source, at_ms
--   value_before, value_after   Wh, both at least $value_min_wh
SELECT json_extract(energy_stream.settings, '$.position')::INTEGER AS position, series.device::VARCHAR AS device,
  series.source,
  max(change.at_ms)::DOUBLE AS at_ms, max_by(change.value_before, change.at_ms) AS value_before,
  max_by(change.value_after, change.at_ms) AS value_after
FROM (
  SELECT *, CASE WHEN to_ms >= $forever_ms::BIGINT THEN from_ms ELSE to_ms END AS at_ms,
    greatest(value_after / value_before, value_before / value_after) AS times
  FROM energy_event
) AS change
JOIN series USING (series_id)
JOIN energy_stream USING (stream_id)
WHERE energy_stream.settings IS NOT NULL AND change.at_ms > (SELECT max(last_ms) FROM series) - $newest_ms::BIGINT
  -- Readings that are left out until $forever_ms have not come back.
  AND (change.kind IN ('reset', 'rebase')
    OR (change.kind IN ('glitch', 'spike') AND change.to_ms >= $forever_ms::BIGINT))
  AND least(change.value_before, change.value_after) >= $value_min_wh::DOUBLE
  AND (abs(change.times / $factor_kilo::DOUBLE - 1) <= $tolerance_share::DOUBLE
    OR (change.kind IN ('glitch', 'spike') AND abs(change.times / $factor::DOUBLE - 1) <= $tolerance_share::DOUBLE))
GROUP BY ALL
ORDER BY position, device, series.source
LIMIT $rows_max::BIGINT;

-- name: find_contradicted
-- Returns devices and sources whose chosen method is contradicted ($contradicted_flag: its bit) on at least
-- $days_min of the newest $newest_days days.
SELECT json_extract(energy_stream.settings, '$.position')::INTEGER AS position, daily_energy.device::VARCHAR AS device,
  daily_energy.source,
  count(*)::INTEGER AS days, max(daily_energy.day)::VARCHAR AS last_day
FROM daily_energy
JOIN energy_stream USING (stream_id)
WHERE energy_stream.settings IS NOT NULL AND daily_energy.flags & $contradicted_flag::INTEGER > 0
  AND daily_energy.day > (SELECT max(day) FROM daily_energy) - $newest_days::INTEGER
GROUP BY position, daily_energy.device, daily_energy.source
HAVING count(*) >= $days_min::INTEGER
ORDER BY position, device, daily_energy.source
LIMIT $rows_max::BIGINT;
