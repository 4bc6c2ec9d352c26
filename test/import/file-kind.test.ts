import { expect, test } from 'vitest';
import { fileKind } from '../../src/import/file-kind.ts';

test.each([
  ['a.csv', 'csv', 'none'],
  ['a.tsv', 'csv', 'none'],
  ['a.txt', 'csv', 'none'],
  ['a.ndjson', 'ndjson', 'none'],
  ['a.jsonl', 'ndjson', 'none'],
  ['a.json', 'ndjson', 'none'],
  ['a.parquet', 'parquet', 'none'],
  ['a.csv.gz', 'csv', 'gzip'],
  ['a.csv.gzip', 'csv', 'gzip'],
  ['a.csv.zst', 'csv', 'zstd'],
  ['a.csv.zstd', 'csv', 'zstd'],
  ['a.json.gzip', 'ndjson', 'gzip'],
  ['/2026.11/A.B.CSV.GZ', 'csv', 'gzip'],
  ['a.xlsx', undefined, 'none'],
  ['a', undefined, 'none'],
])('%s has the format %s and the compression %s', (path, format, compression) => {
  expect(fileKind(path)).toEqual({ format, compression });
});
