-- Stores the days that have changed; a day of which nothing is known any more has no row. $now_ms, $batch_id: when and with what it was computed.
INSERT INTO daily_energy (day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id)
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, $now_ms::BIGINT, $batch_id::BIGINT
FROM day_change
WHERE energy_wh IS NOT NULL;
