-- The intervals that the wanted days were read from.
--
-- Reads  read_from; own_slot (own_day, at_ms): all intervals of the wanted days; interval_energy (device, source, stream_id, interval_start, energy_wh, covered_ms, flags) of the lake
-- Writes "measured", one row for each source and interval that is stored:
--   device, source, own_day, at_ms, energy_wh (Wh), covered_ms (ms), is_estimated
--   is_spread   the energy was spread over a span that is too long to tell when it flowed
SELECT r.device, r.source, r.own_day, epoch_ms(i.interval_start) AS at_ms, i.energy_wh, i.covered_ms,
  list_contains(i.flags, 'estimated') AS is_estimated,
  i.energy_wh <> 0 AND (r.is_sparse OR list_contains(i.flags, 'estimated')) AS is_spread
FROM interval_energy i
JOIN own_slot s ON s.at_ms = epoch_ms(i.interval_start)
JOIN read_from r ON r.device = i.device AND r.source = i.source AND r.stream_id = i.stream_id AND r.own_day = s.own_day
WHERE i.covered_ms > 0 OR i.energy_wh <> 0
