-- What each day of the wanted sources was read from.
--
-- Reads  wanted (device, source, own_day); daily_energy (day, device, source, stream_id, method) and series (device, source, stream_id,
--        step_ms, resolution_wh) of the lake; rule
-- Writes "read_from", one row for each wanted source and local day that has energy:
--   device, source, own_day, stream_id
--   is_register   the method is a register
--   is_sparse     its values are usually too far apart to tell when the energy flowed
--   step_wh       what the register counts by, Wh; 0 where it is none or not known
SELECT e.device, e.source, e.day AS own_day, e.stream_id,
  e.method IN ('total_energy', 'daily_energy') AS is_register,
  coalesce(f.step_ms, 0) > (SELECT span_ms FROM rule) AS is_sparse,
  coalesce(f.resolution_wh, 0) AS step_wh
FROM daily_energy e
JOIN wanted w ON w.device = e.device AND w.source = e.source AND w.own_day = e.day
LEFT JOIN series f ON f.device = e.device AND f.source = e.source AND f.stream_id = e.stream_id
