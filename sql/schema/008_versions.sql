-- What a version of a day counts as, and what brought it about.

ALTER TABLE daily_energy_history ADD COLUMN status VARCHAR;
ALTER TABLE daily_energy_history ADD COLUMN causes VARCHAR[];
COMMENT ON COLUMN daily_energy_history.status IS 'provisional, final or restated, as it was computed; null for versions from before this was kept';
COMMENT ON COLUMN daily_energy_history.causes IS 'What brought the version about: stream, import or backfill (readings that came so), configuration, zone, learnt (limits learnt anew); empty where the day was not over, null for versions from before this was kept';
UPDATE daily_energy_history AS h SET status = d.status
FROM daily_energy d WHERE d.day = h.day AND d.device = h.device AND d.source = h.source AND d.version = h.version;
INSERT INTO dirty_partition (dataset, partition)
SELECT DISTINCT 'daily_energy_version', strftime(day, '%Y-%m') FROM daily_energy_history;
COMMENT ON COLUMN dirty_partition.dataset IS 'interval_energy, daily_energy, daily_energy_version, meter_reading, device_status or quarantine';
COMMENT ON COLUMN dirty_partition.partition IS 'interval_energy, device_status: UTC day YYYY-MM-DD; daily_energy, daily_energy_version: month YYYY-MM of the local day; meter_reading: month of UTC; quarantine: any text, where rows were deleted';
