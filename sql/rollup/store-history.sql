-- Keeps every version of days that are over. $now_ms, $batch_id as in store-days.
INSERT INTO daily_energy_history (day, device, source, energy_wh, method, flags, coverage, version, computed_at_ms, batch_id)
SELECT day, device, source, energy_wh, method, flags, coverage, version, $now_ms::BIGINT, $batch_id::BIGINT
FROM day_change
WHERE end_ms <= $now_ms::BIGINT;
