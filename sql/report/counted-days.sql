-- What counts of "every_day": days by source, each with whether it is part of the energy of its device. $device_sources: the file of the
-- generation that tells it. Those that do not count are few, so they are what is joined.
SELECT d.*, s.source IS NULL AS counts
FROM every_day d
LEFT JOIN (SELECT device, source FROM read_parquet($device_sources, hive_partitioning = false) WHERE NOT counts) AS s
  ON s.device = d.device AND s.source = d.source
