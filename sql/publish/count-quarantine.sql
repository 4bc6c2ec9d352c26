-- How many quarantined items are new, by month (UTC) of their quarantine: the rows from $from_row up to, not including, $to_row.
SELECT strftime(make_timestamp(quarantined_at_ms * 1000), '%Y-%m') AS month, count(*)::DOUBLE AS row_count
FROM quarantine
WHERE rowid >= $from_row::BIGINT AND rowid < $to_row::BIGINT
GROUP BY ALL
ORDER BY ALL;
