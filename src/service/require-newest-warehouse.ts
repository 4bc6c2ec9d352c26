import type { Config } from '../config/config.ts';
import { TransientError } from '../lib/errors.ts';
import { warehouseFile } from '../pipeline/assignment.ts';
import { readReplicaHead } from '../replica/replica-commit.ts';
import { canContinue, readReplicationState } from '../replica/replication-state.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import type { Service } from './service.ts';

/**
 * Checks that no other machine has continued a workgroup, before its local warehouse is read without a
 * worker. Without a bucket there is no other machine.
 * @throws TransientError `WorkgroupElsewhere` if the newest data of the workgroup is not in the local
 *   warehouse; errors of the store
 */
export async function requireNewestWarehouse(
  { dataDir, storage }: Pick<Config, 'dataDir' | 'storage'>,
  workgroupId: string,
  { clock }: Pick<Service, 'clock'>,
): Promise<void> {
  const store = workgroupStore(storage, workgroupId);
  if (!store) return;
  const state = await readReplicationState(warehouseFile(dataDir, workgroupId), clock);
  const head = await readReplicaHead(store);
  // Without a warehouse and without data, the reader of the warehouse throws the right error.
  if (state ? canContinue(state, head) : !head?.generation) return;
  throw new TransientError(
    'WorkgroupElsewhere',
    `no worker has workgroup ${workgroupId} open, and its newest data is not in ${dataDir}; start a worker on any machine with "wattline worker", and try again`,
  );
}
