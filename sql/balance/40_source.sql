-- 40 Source: the energy of sources in intervals.
--
-- Reads   wanted (sources and days), daily_energy, series, interval_energy (of the lake), own_slot, slot,
--         rule.
-- Writes  "read_from" (the stream of each day), "measured" (its stored intervals), "source_interval" (all of
--         its intervals).
-- Why     An unknown interval is not 0.

-- name: find_read_from
-- Finds the stream from which each day of the wanted sources was read. One row for each wanted source and
-- local day that has energy.
-- Reads wanted (device, source, own_day); daily_energy (day, device, source, stream_id, method) and series
-- (device, source, stream_id, step_ms, resolution_wh) of the lake; rule.
-- read_from:
--   device, source, own_day, stream_id
--   is_register   the method is a register
--   is_sparse     its values are usually too far apart to show when the energy flowed
--   step_wh       resolution of the register, Wh; 0 if it is not a register or the resolution is unknown
SELECT daily_energy.device, daily_energy.source, daily_energy.day AS own_day, daily_energy.stream_id,
  daily_energy.method IN ('total_energy', 'daily_energy') AS is_register,
  coalesce(series.step_ms, 0) > (SELECT span_ms FROM rule) AS is_sparse,
  coalesce(series.resolution_wh, 0) AS step_wh
FROM daily_energy
JOIN wanted ON wanted.device = daily_energy.device AND wanted.source = daily_energy.source
  AND wanted.own_day = daily_energy.day
LEFT JOIN series
  ON series.device = daily_energy.device AND series.source = daily_energy.source
  AND series.stream_id = daily_energy.stream_id;

-- name: find_measured
-- Selects the stored intervals of the wanted days. One row for each source and interval that is stored.
-- Reads read_from; own_slot (own_day, at_ms): all intervals of the wanted days; interval_energy (device,
-- source, stream_id, interval_start, energy_wh, covered_ms, flags) of the lake.
-- measured:
--   device, source, own_day, at_ms, energy_wh, covered_ms
--   is_estimated   a bound of the interval was interpolated
--   is_spread      the energy was spread over a span that is too long to show when it flowed
SELECT read_from.device, read_from.source, read_from.own_day, epoch_ms(interval_energy.interval_start) AS at_ms,
  interval_energy.energy_wh, interval_energy.covered_ms,
  list_contains(interval_energy.flags, 'estimated') AS is_estimated,
  interval_energy.energy_wh <> 0
    AND (read_from.is_sparse OR list_contains(interval_energy.flags, 'estimated')) AS is_spread
FROM interval_energy
JOIN own_slot ON own_slot.at_ms = epoch_ms(interval_energy.interval_start)
JOIN read_from
  ON read_from.device = interval_energy.device AND read_from.source = interval_energy.source
  AND read_from.stream_id = interval_energy.stream_id AND read_from.own_day = own_slot.own_day
-- Energy of an instant has no covered time, as in report/select_intervals.
WHERE interval_energy.covered_ms > 0 OR interval_energy.energy_wh <> 0;

-- name: find_source_interval
-- Computes the energy of each source in each interval, from the field from which the source's day was read.
-- One row for each wanted source and interval of its day.
-- Reads wanted (device, source, own_day); slot; read_from; measured; daily_energy (day, device, source,
-- method); rule.
-- source_interval:
--   device, source, own_day, at_ms
--   energy_wh      Wh; null if unknown
--   is_known       measurements cover the interval, or it lies between two readings of a register
--   has_shape      it is known when the energy flowed; a little spread energy is tolerated
--   is_estimated   a bound of the interval was interpolated
--   step_wh        resolution of the register, Wh; 0 if it is not a register or the resolution is unknown
WITH reach AS (
  -- The first and the last day of each source that was read from a register.
  SELECT device, source, min(day) AS first_day, max(day) AS last_day
  FROM daily_energy
  WHERE method IN ('total_energy', 'daily_energy')
  GROUP BY device, source
), day_reach AS (
  -- The first and the last interval of each day, and its energy without a shape.
  SELECT device, source, own_day, min(at_ms) AS first_ms, max(at_ms) AS last_ms,
    coalesce(sum(abs(energy_wh)) FILTER (is_spread), 0) AS spread_wh
  FROM measured GROUP BY device, source, own_day
), judged AS (
  -- Each interval of the wanted days, with what was measured in it, and whether it is known.
  SELECT wanted.device, wanted.source, wanted.own_day, wanted_slot.at_ms, read_from.is_register, read_from.step_wh,
    measured.energy_wh, measured.is_spread, measured.is_estimated, day_reach.spread_wh,
    coalesce(measured.covered_ms >= rule.known_share * rule.interval_ms, false) AS is_measured,
    -- Intervals between two readings of a register are known, even if no measurement covers them: for example
    -- those of the night in which the register was replaced.
    coalesce(read_from.is_register AND (wanted_slot.at_ms > day_reach.first_ms OR wanted.own_day > reach.first_day)
      AND (wanted_slot.at_ms < day_reach.last_ms OR wanted.own_day < reach.last_day), false) AS is_between,
    read_from.device IS NOT NULL AND (is_measured OR is_between) AS is_known
  FROM wanted
  CROSS JOIN rule
  JOIN (SELECT own_day, at_ms FROM slot) AS wanted_slot ON wanted_slot.own_day = wanted.own_day
  LEFT JOIN read_from
    ON read_from.device = wanted.device AND read_from.source = wanted.source AND read_from.own_day = wanted.own_day
  LEFT JOIN reach ON reach.device = wanted.device AND reach.source = wanted.source
  LEFT JOIN day_reach
    ON day_reach.device = wanted.device AND day_reach.source = wanted.source AND day_reach.own_day = wanted.own_day
  LEFT JOIN measured
    ON measured.device = wanted.device AND measured.source = wanted.source AND measured.own_day = wanted.own_day
    AND measured.at_ms = wanted_slot.at_ms
)
SELECT device, source, own_day, at_ms, is_known,
  CASE WHEN is_known THEN coalesce(energy_wh, 0) END AS energy_wh,
  NOT (coalesce(is_spread, false) AND coalesce(spread_wh, 0) > (SELECT span_wh FROM rule)) AS has_shape,
  coalesce(is_estimated, false) AS is_estimated,
  CASE WHEN is_register THEN step_wh ELSE 0 END AS step_wh
FROM judged;
