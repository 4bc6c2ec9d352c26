-- Keeps every version of days that are over, with what the day ended at where it has changed since: before the changed days are stored.
-- $now_ms, $batch_id as in store-days; causes from version_cause.
INSERT INTO daily_energy_history (day, device, source, energy_wh, method, flags, coverage, version, computed_at_ms, batch_id, status, causes)
SELECT o.day, o.device, o.source, o.energy_wh, o.method, o.flags, o.coverage, o.version, o.computed_at_ms, o.batch_id, o.status, []
FROM day_change c
JOIN daily_energy o ON o.day = c.day AND o.device = c.device AND o.source = c.source
WHERE c.end_ms <= $now_ms::BIGINT AND o.version > coalesce(c.kept_version, 0)
UNION ALL
SELECT c.day, c.device, c.source, c.energy_wh, c.method, c.flags, c.coverage, c.version, $now_ms::BIGINT, $batch_id::BIGINT, c.status, v.causes
FROM day_change c
JOIN version_cause v USING (day, device, source);
