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
SELECT e.device, e.source, e.day AS own_day, e.stream_id,
  e.method IN ('total_energy', 'daily_energy') AS is_register,
  coalesce(f.step_ms, 0) > (SELECT span_ms FROM rule) AS is_sparse,
  coalesce(f.resolution_wh, 0) AS step_wh
FROM daily_energy e
JOIN wanted w ON w.device = e.device AND w.source = e.source AND w.own_day = e.day
LEFT JOIN series f ON f.device = e.device AND f.source = e.source AND f.stream_id = e.stream_id;

-- name: find_measured
-- Selects the stored intervals of the wanted days. One row for each source and interval that is stored.
-- Reads read_from; own_slot (own_day, at_ms): all intervals of the wanted days; interval_energy (device,
-- source, stream_id, interval_start, energy_wh, covered_ms, flags) of the lake.
-- measured:
--   device, source, own_day, at_ms, energy_wh, covered_ms
--   is_estimated   a bound of the interval was interpolated
--   is_spread      the energy was spread over a span that is too long to show when it flowed
SELECT r.device, r.source, r.own_day, epoch_ms(i.interval_start) AS at_ms, i.energy_wh, i.covered_ms,
  list_contains(i.flags, 'estimated') AS is_estimated,
  i.energy_wh <> 0 AND (r.is_sparse OR list_contains(i.flags, 'estimated')) AS is_spread
FROM interval_energy i
JOIN own_slot s ON s.at_ms = epoch_ms(i.interval_start)
JOIN read_from r ON r.device = i.device AND r.source = i.source AND r.stream_id = i.stream_id AND r.own_day = s.own_day
WHERE i.covered_ms > 0 OR i.energy_wh <> 0;

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
)
SELECT w.device, w.source, w.own_day, s.at_ms,
  r.device IS NOT NULL AND (
    coalesce(m.covered_ms >= rule.known_share * rule.interval_ms, false)
    -- A register that shows the same for hours has no rows for them: they lie between two readings all the
    -- same.
    OR coalesce(r.is_register AND (s.at_ms > d.first_ms OR w.own_day > e.first_day) AND (s.at_ms < d.last_ms OR w.own_day < e.last_day), false)
  ) AS is_known,
  CASE WHEN is_known THEN coalesce(m.energy_wh, 0) END AS energy_wh,
  NOT (coalesce(m.is_spread, false) AND coalesce(d.spread_wh, 0) > rule.span_wh) AS has_shape,
  coalesce(m.is_estimated, false) AS is_estimated,
  CASE WHEN r.is_register THEN r.step_wh ELSE 0 END AS step_wh
FROM wanted w
CROSS JOIN rule
JOIN (SELECT own_day, at_ms FROM slot) AS s ON s.own_day = w.own_day
LEFT JOIN read_from r ON r.device = w.device AND r.source = w.source AND r.own_day = w.own_day
LEFT JOIN reach e ON e.device = w.device AND e.source = w.source
LEFT JOIN day_reach d ON d.device = w.device AND d.source = w.source AND d.own_day = w.own_day
LEFT JOIN measured m ON m.device = w.device AND m.source = w.source AND m.own_day = w.own_day AND m.at_ms = s.at_ms;
