-- The scenarios that there are budgets of, for meters ($codes).
SELECT DISTINCT scenario FROM read_parquet($budget_files, hive_partitioning = false)
WHERE is_current AND meter_code IN (SELECT unnest($codes::VARCHAR[])) ORDER BY scenario
