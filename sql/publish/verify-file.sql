-- What a Parquet file ($path) says it holds, read back from the file.
SELECT num_rows::DOUBLE AS row_count, file_size_bytes::DOUBLE AS bytes FROM parquet_file_metadata([$path]);
