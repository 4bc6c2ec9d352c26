import type { DuckDBConnection } from '@duckdb/node-api';
import { StaleOwnerError, TerminalError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import { query } from './query.ts';

/** The workgroup of a file, and the epoch in which a process can write it. */
interface Owner {
  workgroupId: string;
  epoch: bigint;
}

interface ShardRow extends Record<string, string | bigint> {
  workgroup_id: string;
  owner_epoch: bigint;
}

/**
 * Makes the caller the owner of the file, and a new file the workgroup's.
 * @returns the epoch of this ownership
 * @throws TerminalError if the file belongs to another workgroup
 * @throws StaleOwnerError if the wanted epoch is not newer than the file's
 */
export async function takeOwnership(
  connection: DuckDBConnection,
  wanted: { workgroupId: string; path: string; epoch?: bigint; clock: Clock },
): Promise<bigint> {
  const [row] = await query<ShardRow>(connection, 'land/find_shard');
  if (row === undefined) {
    const epoch = wanted.epoch ?? 1n;
    await query(connection, 'land/store_shard', {
      workgroup_id: wanted.workgroupId,
      owner_epoch: epoch,
      created_at_ms: wanted.clock.now(),
    });
    return epoch;
  }
  if (row.workgroup_id !== wanted.workgroupId) {
    throw new TerminalError(
      'WrongWorkgroup',
      `${wanted.path} holds workgroup ${row.workgroup_id}, not ${wanted.workgroupId}; check the names of the files`,
      { details: { path: wanted.path, holds: row.workgroup_id, wanted: wanted.workgroupId } },
    );
  }
  const epoch = wanted.epoch ?? row.owner_epoch + 1n;
  if (epoch <= row.owner_epoch) throw new StaleOwnerError(wanted.workgroupId, epoch, row.owner_epoch);
  await query(connection, 'land/take_ownership', { owner_epoch: epoch });
  return epoch;
}

/** @throws StaleOwnerError if another worker owns the file now */
export async function checkOwner(connection: DuckDBConnection, owner: Owner): Promise<void> {
  const [row] = await query<ShardRow>(connection, 'land/find_shard');
  const stored = row?.owner_epoch ?? 0n;
  if (stored !== owner.epoch) throw new StaleOwnerError(owner.workgroupId, owner.epoch, stored);
}
