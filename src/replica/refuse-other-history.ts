import { dirname } from 'node:path';
import { TerminalError } from '../lib/errors.ts';
import { isLakeComplete } from '../publish/is-lake-complete.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { ReplicaCommit } from './replica-commit.ts';
import type { ReplicationState } from './replication-state.ts';

/** The data of a workgroup on this machine. */
interface LocalData {
  warehousePath: string;
  /** The folder of the workgroup's local lake. */
  root: string;
  /** Undefined without a usable warehouse. */
  state: ReplicationState | undefined;
  /** True if the local lake has generations. */
  hasPublished: boolean;
}

/**
 * Refuses to claim a workgroup if the claim would hide published data. To be called before the claim is sent.
 * @param head the newest commit. Undefined if the replica is new
 * @throws TerminalError `FirstCopyMissing` if the replica waits for the first copy of published data, and
 * this machine does not have that data
 * @throws TerminalError `OtherHistory` if the replica has data, and this machine has published data that was
 * never in a replica
 */
export function refuseOtherHistory(
  store: Pick<ObjectStore, 'address'>,
  head: ReplicaCommit | undefined,
  { warehousePath, root, state, hasPublished }: LocalData,
): void {
  if (!head) return;
  const { workgroupId } = head;
  const hasLocal = state !== undefined && hasPublished;
  if (!head.generation) {
    if (head.hasPublished !== true || hasLocal) return;
    throw new TerminalError(
      'FirstCopyMissing',
      `${store.address} waits for the first copy of the workgroup ${workgroupId} from the machine that has its data, and this data folder (${dirname(dirname(root))}) has no published data of it. Nothing was claimed. Start the worker with the data folder that has the data. If that folder is lost, restore a backup into the bucket: "wattline restore <backup> --workgroup ${workgroupId}"`,
      { details: { workgroupId } },
    );
  }
  const wasReplicated =
    !state || state.replicatedNonce !== null || state.plannedNonce !== null || state.claimNonces.length > 0;
  // A lake that is not complete was restored from the bucket a moment ago.
  if (!hasLocal || wasReplicated || !isLakeComplete({ root })) return;
  throw new TerminalError(
    'OtherHistory',
    `${store.address} has data of the workgroup ${workgroupId}, and this machine has published other data of it that was never in the bucket. Nothing was claimed. To continue with the data of the bucket, move ${warehousePath} and ${root} away. To continue with the data of this machine, stop all workers, make a backup with a configuration without storage.s3 ("wattline backup"), restore it into the bucket ("wattline restore <backup> --workgroup ${workgroupId} --force"), and then move both away`,
    { details: { workgroupId } },
  );
}
