-- What the roll-up has changed since it was last published.
SELECT DISTINCT dataset, partition FROM dirty_partition ORDER BY ALL;
