-- Rows have been taken out of the quarantine, so that the lake writes it again.
INSERT INTO dirty_partition (dataset, partition) VALUES ('quarantine', 'backfill');
