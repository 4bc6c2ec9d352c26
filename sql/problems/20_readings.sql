-- 20 Readings: newest readings that contradict the configured rules.
--
-- Reads   series, energy_stream, interval_energy, daily_energy, energy_event.
-- Writes  nothing. Returns one row for each device and source with a problem, at most 1000; position: of its
--         energy stream in the configuration.
-- Why     A wrong method, unit or limit gives wrong energy every day. A person has to change the
--         configuration.

-- name: find_still_registers
-- Returns lifetime registers that have covered at least a day of the newest week (604,800,000 ms) without
-- growing, although power of the same device and source has more than 1 kWh and more than 20 times the
-- register's resolution.
WITH week AS (
  SELECT s.device, s.source, e.settings, s.resolution, sum(i.energy_wh) AS energy_wh, sum(i.covered_ms) AS covered_ms
  FROM interval_energy i
  JOIN series s USING (series_id)
  JOIN energy_stream e USING (stream_id)
  WHERE e.settings IS NOT NULL AND i.interval_start_ms > (SELECT max(last_ms) FROM series) - 7 * 24 * 60 * 60 * 1000
  GROUP BY ALL
)
SELECT json_extract(register.settings, '$.position')::INTEGER AS position, register.device::VARCHAR AS device, register.source,
  power.energy_wh::DOUBLE AS power_wh
FROM week register
JOIN week power ON power.device = register.device AND power.source = register.source
WHERE json_extract_string(register.settings, '$.method') = 'total_energy' AND json_extract_string(power.settings, '$.method') = 'power_curve'
  AND register.energy_wh = 0 AND register.covered_ms >= 24 * 60 * 60 * 1000 AND power.energy_wh > greatest(1000, 20 * coalesce(register.resolution, 0))
ORDER BY position, device, register.source
LIMIT 1000;

-- name: find_beyond_power
-- Returns devices and sources with readings beyond the configured maxPower ($beyond_flags: bits of spike and
-- rebase) in at least one in twenty intervals of the newest week, and in at least four.
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, s.device::VARCHAR AS device, s.source,
  json_extract(e.settings, '$.maxPower')::DOUBLE AS power_w,
  count(*) FILTER (i.flags & $beyond_flags::INTEGER > 0)::INTEGER AS beyond, count(*)::INTEGER AS intervals
FROM interval_energy i
JOIN series s USING (series_id)
JOIN energy_stream e USING (stream_id)
WHERE json_extract(e.settings, '$.maxPower') IS NOT NULL AND i.interval_start_ms > (SELECT max(last_ms) FROM series) - 7 * 24 * 60 * 60 * 1000
GROUP BY ALL
HAVING beyond >= 4 AND beyond >= 0.05 * intervals
ORDER BY position, device, source
LIMIT 1000;

-- name: find_unit_changes
-- Returns registers that, within the newest $newest_ms, continued at a thousand times or a thousandth of
-- their value, within 1 %; or at ten times or a tenth, if they are left out since. Only the last such change.
-- $forever_ms: the end of an event that has no end yet.
-- Columns:
--   position, device, source, at_ms
--   value_before, value_after   Wh, both at least 100
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, s.device::VARCHAR AS device, s.source,
  max(v.at_ms)::DOUBLE AS at_ms, max_by(v.value_before, v.at_ms) AS value_before, max_by(v.value_after, v.at_ms) AS value_after
FROM (SELECT *, CASE WHEN to_ms >= $forever_ms::BIGINT THEN from_ms ELSE to_ms END AS at_ms FROM energy_event) AS v
JOIN series s USING (series_id)
JOIN energy_stream e USING (stream_id)
WHERE e.settings IS NOT NULL AND v.at_ms > (SELECT max(last_ms) FROM series) - $newest_ms::BIGINT
  -- Readings that are left out until $forever_ms have not come back.
  AND (v.kind IN ('reset', 'rebase') OR (v.kind IN ('glitch', 'spike') AND v.to_ms >= $forever_ms::BIGINT))
  AND least(v.value_before, v.value_after) >= 100
  AND (v.value_after / v.value_before BETWEEN 0.00099 AND 0.00101 OR v.value_after / v.value_before BETWEEN 990 AND 1010
    OR (v.kind IN ('glitch', 'spike') AND (v.value_after / v.value_before BETWEEN 0.099 AND 0.101 OR v.value_after / v.value_before BETWEEN 9.9 AND 10.1)))
GROUP BY ALL
ORDER BY position, device, s.source
LIMIT 1000;

-- name: find_contradicted
-- Returns devices and sources whose chosen method is contradicted ($contradicted_flag: its bit) on at least
-- two of the newest seven days.
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, d.device::VARCHAR AS device, d.source,
  count(*)::INTEGER AS days, max(d.day)::VARCHAR AS last_day
FROM daily_energy d
JOIN energy_stream e USING (stream_id)
WHERE e.settings IS NOT NULL AND d.flags & $contradicted_flag::INTEGER > 0 AND d.day > (SELECT max(day) FROM daily_energy) - 7
GROUP BY position, d.device, d.source
HAVING count(*) >= 2
ORDER BY position, device, d.source
LIMIT 1000;
