-- What counts of "every_day": days by source, each with whether it is part of the energy of its device. $device_sources: the file of the
-- generation that tells it.
SELECT d.*, coalesce(s.counts, true) AS counts
FROM every_day d
LEFT JOIN read_parquet($device_sources, hive_partitioning = false) s ON s.device = d.device AND s.source = d.source
