-- The energy (Wh) in a Parquet file ($path), read back from the file.
SELECT coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh FROM read_parquet([$path], hive_partitioning = false);
