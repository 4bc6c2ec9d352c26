-- What the roll-up has changed since it was last published. The roll-up adds rows in the transaction that changes the
-- partition; publish removes the rows it has seen in the transaction that it read the partition in.

CREATE TABLE dirty_partition (
  dataset VARCHAR NOT NULL,
  partition VARCHAR NOT NULL
);
COMMENT ON TABLE dirty_partition IS 'Partitions of the lake that have to be written again; a partition may stand here more than once';
COMMENT ON COLUMN dirty_partition.dataset IS 'interval_energy, daily_energy or quarantine';
COMMENT ON COLUMN dirty_partition.partition IS 'interval_energy: UTC day YYYY-MM-DD; daily_energy: month YYYY-MM of the local day; quarantine: any text, where rows were deleted';
