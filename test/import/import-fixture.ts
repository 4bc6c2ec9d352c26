import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBListValue } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../../src/config/config.ts';
import { type ImportOutcome, importFile } from '../../src/import/import-file.ts';
import { type MappingInput, mappingSchema } from '../../src/import/import-mapping.ts';
import type { ImportProgress } from '../../src/import/import-request.ts';
import { type Preview, previewFile } from '../../src/import/preview-file.ts';
import { parseJsonExact } from '../../src/lib/json-text.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { tempDir } from '../support/temp-dir.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';
import { NOW_MS, testWorkgroup } from './settings.ts';

export { DEVICE, testWorkgroup } from './settings.ts';

export const OTHER_DEVICE = '0b0e7c1e-0000-4000-8000-000000000002';

/** A file with this content, in a separate folder. */
export function fileOf(name: string, content: string | Uint8Array): string {
  const path = join(tempDir(), name);
  writeFileSync(path, content);
  return path;
}

/** A Parquet file with the rows of a query, in groups of so many rows. */
export async function parquetOf(query: string, groupRows = 122_880): Promise<string> {
  const path = join(tempDir(), 'rows.parquet');
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE ${groupRows})`);
  connection.closeSync();
  instance.closeSync();
  return path;
}

/** What an import of the file would land. */
export function preview(
  path: string,
  mapping: MappingInput,
  workgroup: WorkgroupConfig = testWorkgroup(),
): Promise<Preview> {
  return previewFile(
    { path, table: 't', mapping: mappingSchema.parse(mapping), workgroup, storeTimeMs: NOW_MS, threads: 2 },
    new AbortController().signal,
  );
}

export interface ImportMore {
  workgroup?: WorkgroupConfig;
  signal?: AbortSignal;
  batchRows?: number;
  onProgress?: (progress: ImportProgress) => void;
}

export function importInto(
  shard: Shard,
  path: string,
  mapping: MappingInput,
  more: ImportMore = {},
): Promise<ImportOutcome> {
  return importFile(
    shard,
    { path, table: 't', mapping: mappingSchema.parse(mapping) },
    {
      workgroup: testWorkgroup(),
      threads: 2,
      clock: { now: () => NOW_MS },
      logger: silentLogger,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      ...more,
    },
  );
}

/** The messages of whole batches, in the order of their offsets. */
export async function messagesIn(shard: Shard) {
  const names = new Map(
    (await rowsOf(shard, 'SELECT name_id, name FROM name')).map((row) => [row.name_id, row.name]),
  );
  const nameOf = (id: unknown) => String(names.get(id as number));
  const rows = await rowsOf(
    shard,
    `SELECT event_time_ms::DOUBLE AS time_ms, device::VARCHAR AS device, source_id, table_id, field_ids, numbers, other
     FROM message JOIN batch USING (batch_id) ORDER BY stream_offset`,
  );
  return rows.map(({ time_ms, device, source_id, table_id, field_ids, numbers, other }) => ({
    time_ms,
    device,
    source: source_id === null ? null : nameOf(source_id),
    table: nameOf(table_id),
    data: {
      ...Object.fromEntries(
        (field_ids as DuckDBListValue).items.map((id, at) => [
          nameOf(id),
          (numbers as DuckDBListValue).items[at],
        ]),
      ),
      ...(other === null ? {} : (parseJsonExact(String(other)) as Record<string, unknown>)),
    } as Record<string, unknown>,
  }));
}
