/** The SQL that reads the files of a parameter. */
export function fromParquet(parameter: string): string {
  return `FROM read_parquet($${parameter}, hive_partitioning = false)`;
}
