import type { FileFormat } from './import-mapping.ts';

export type Compression = 'none' | 'gzip' | 'zstd';

export interface FileKind {
  format: FileFormat | undefined;
  compression: Compression;
}

/** The format and the compression by the name of a file. */
export function fileKind(path: string): FileKind {
  const [, ending = '', packed] = /\.([a-z]+?)(?:\.(gz|gzip|zst|zstd))?$/.exec(path.toLowerCase()) ?? [];
  const compression = packed === undefined ? 'none' : packed.startsWith('g') ? 'gzip' : 'zstd';
  if (['csv', 'tsv', 'txt'].includes(ending)) return { format: 'csv', compression };
  if (['ndjson', 'jsonl', 'json'].includes(ending)) return { format: 'ndjson', compression };
  return { format: ending === 'parquet' ? 'parquet' : undefined, compression };
}
