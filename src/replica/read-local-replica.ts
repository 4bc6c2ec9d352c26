import { basename, dirname } from 'node:path';
import { isDamage } from '../backup/find-damage.ts';
import { TerminalError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import { readHead } from '../publish/lake-commit.ts';
import { refuseOtherWarehouse } from '../publish/lake-guard.ts';
import { lakePaths } from '../publish/lake-layout.ts';
import { type ReplicationState, readReplicationState } from './replication-state.ts';

/** The data of a workgroup on this machine, before it opens the warehouse. */
interface LocalReplica {
  /** Undefined without a warehouse, and if it is damaged. */
  state: ReplicationState | undefined;
  /**
   * Why the local data cannot continue: the warehouse is damaged, or its lake is missing, damaged or another
   * one.
   */
  fault: TerminalError | undefined;
}

/**
 * Reads the state of a local warehouse, and checks that its lake belongs to it. No process may have it open.
 * @param root the folder of the workgroup's local lake
 * @throws TransientError `WarehouseLocked` if a process has the warehouse open
 */
export async function readLocalReplica(
  warehousePath: string,
  root: string,
  clock: Clock,
): Promise<LocalReplica> {
  let state: ReplicationState | undefined;
  try {
    state = await readReplicationState(warehousePath, clock);
    if (!state) return { state, fault: undefined };
    const paths = lakePaths(dirname(root), basename(root));
    refuseOtherWarehouse(await readHead(paths), state.publication, paths, basename(root));
    return { state, fault: undefined };
  } catch (error) {
    if (isDamage(error) || (state && error instanceof TerminalError)) return { state, fault: error };
    throw error;
  }
}
