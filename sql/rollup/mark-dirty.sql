-- What has to be published again: the months of the days that have changed, and of versions of days that are over ($now_ms); the UTC days of
-- the noted days between the bounds.
INSERT INTO dirty_partition (dataset, partition)
SELECT DISTINCT 'daily_energy', strftime(day, '%Y-%m') FROM day_change
UNION ALL
SELECT DISTINCT 'daily_energy_version', strftime(day, '%Y-%m') FROM day_change WHERE end_ms <= $now_ms::BIGINT
UNION ALL
SELECT DISTINCT 'interval_energy', strftime(make_timestamp(unnest([c.start_ms, c.end_ms - 1]) * 1000), '%Y-%m-%d') FROM touched_day c
WHERE c.start_ms >= $low_ms::BIGINT AND c.end_ms <= $high_ms::BIGINT;
