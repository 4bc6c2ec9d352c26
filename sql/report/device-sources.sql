-- Which sources each device has, from the series files of one generation ($files).
SELECT DISTINCT device::VARCHAR AS device, source FROM read_parquet($files, hive_partitioning = false)
