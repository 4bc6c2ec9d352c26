import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Clock } from '../../src/lib/time.ts';
import { openShard, type Shard, type ShardOptions } from '../../src/warehouse/shard.ts';
import { atEnd, shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { NOW_MS } from './batches.ts';
import { putEmptyWarehouse } from './empty-warehouse.ts';

/**
 * A shard, in a separate folder unless `path` says where, closed when the test has finished. It has one
 * thread, because two cost a fifth more of the processor with the few rows of a test. One property has two,
 * and all have two in the soak, so that rows come in any order.
 */
export async function openTestShard(more: Partial<ShardOptions> = {}): Promise<Shard> {
  const path = more.path ?? join(tempDir(), 'acme.duckdb');
  if (more.path === undefined) await putEmptyWarehouse(path);
  const shard = await openShard({
    path,
    workgroupId: 'acme',
    memoryMegabytes: 256,
    threads: 1,
    clock: { now: () => NOW_MS },
    logger: silentLogger,
    ...more,
  });
  atEnd(() => shard.close());
  return shard;
}

/**
 * Fills a warehouse once for all tests of a file. Each call then opens a copy of it, which a test can change,
 * because filling takes longer than opening.
 */
export function filledShard(fill: (shard: Shard) => Promise<unknown>): (clock?: Clock) => Promise<Shard> {
  const image = shared(async () => {
    const path = join(tempDir(), 'acme.duckdb');
    await putEmptyWarehouse(path);
    const shard = await openTestShard({ path });
    await fill(shard);
    await shard.close();
    return path;
  });
  return async (clock) => {
    const path = join(tempDir(), 'acme.duckdb');
    copyFileSync(image(), path);
    return openTestShard({ path, ...(clock && { clock }) });
  };
}

/** The rows of a statement, 64-bit integers as bigint. */
export async function rowsOf(
  shard: Pick<Shard, 'connect'>,
  sql: string,
): Promise<Array<Record<string, DuckDBValue>>> {
  const connection: DuckDBConnection = await shard.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjects();
  } finally {
    connection.closeSync();
  }
}

/** The offsets that have landed, in the order of the file. */
export async function landedOffsets(shard: Pick<Shard, 'connect'>): Promise<bigint[]> {
  const rows = await rowsOf(shard, 'SELECT stream_offset FROM message');
  return rows.map((row) => row.stream_offset as bigint);
}
