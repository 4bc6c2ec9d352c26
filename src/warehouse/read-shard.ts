import { statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { TransientError } from '../lib/errors.ts';
import { type DatabaseOptions, openDatabase } from './database.ts';
import { checkSchema } from './migrate.ts';
import { onConnection } from './recovering-database.ts';
import { warehouseFailure } from './warehouse-failures.ts';

/**
 * Reads a warehouse that no process has open. It changes nothing, not even the owner.
 * @throws TransientError NoWarehouse if there is none yet, WarehouseLocked if a process has it open
 * @throws TerminalError if it is damaged, or of another version of this program
 */
export async function readShard<Result>(
  options: Omit<DatabaseOptions, 'readOnly' | 'folders'> & { workgroupId: string },
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  const { path, workgroupId } = options;
  // A file that this user must not read is reported as unreadable, and not as missing.
  if (!statSync(path, { throwIfNoEntry: false })) {
    throw new TransientError(
      'NoWarehouse',
      `workgroup ${workgroupId} has stored nothing yet (there is no ${path}); start a worker with "wattline up"`,
      { details: { path } },
    );
  }
  const database = await openDatabase({ ...options, readOnly: true });
  try {
    return await onConnection(database, async (connection) => {
      await checkSchema(connection, path).catch((error: unknown) => {
        throw warehouseFailure(error, path);
      });
      return work(connection);
    });
  } finally {
    await database.close();
  }
}
