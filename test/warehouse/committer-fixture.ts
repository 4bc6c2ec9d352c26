import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import type { Checkpoint } from '../../src/warehouse/checkpoint.ts';
import { createCommitter } from '../../src/warehouse/committer.ts';
import { createChunkFiller } from '../../src/warehouse/fill-chunks.ts';
import type { PreparedWrite } from '../../src/warehouse/landing-ledger.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { takeOwnership } from '../../src/warehouse/ownership.ts';
import { planLanding } from '../../src/warehouse/plan-landing.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf, NOW_MS } from './batches.ts';

const clock = { now: () => NOW_MS };
const owner = { workgroupId: 'acme', epoch: 1n };

/** The file of an empty warehouse, and writes for it. */
export async function openFile() {
  const instance = await DuckDBInstance.create(join(tempDir(), 'acme.duckdb'));
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await migrate(connection, { clock, path: 'file' });
  await takeOwnership(connection, { workgroupId: 'acme', path: 'file', clock });
  const filler = createChunkFiller();
  return {
    connection,
    openCommitter: async () => createCommitter(await instance.connect(), owner),
    prepare(before: Checkpoint | undefined, first: number, count: number): PreparedWrite {
      const planned = planLanding(before, batchOf(first, count), 1, NOW_MS);
      if (planned.kind !== 'write') throw new Error(planned.result.kind);
      const { write } = planned;
      const { columns, start, end } = write.content!;
      const chunks = filler.fill(columns, start, end, 1);
      return { ...write, origin: 'stream', batchId: 1, chunks, rejected: [] };
    },
  };
}
