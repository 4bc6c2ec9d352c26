import type { Config, WorkgroupConfig } from '../config/config.ts';
import { type Assignment, assignmentOf } from '../pipeline/assignment.ts';
import type { Operations } from '../pipeline/operations.ts';
import type { AskableName } from '../pipeline/remote-operations.ts';
import type { AsJson } from '../worker-rpc/rpc-wire.ts';
import { openControl } from './open-control.ts';
import { requireNewestWarehouse } from './require-newest-warehouse.ts';
import type { Service } from './service.ts';

/**
 * Calls an operation in the process that has a workgroup's warehouse open. If there is none, reads the
 * warehouse.
 * @param read the same operation on a warehouse that no process has open
 * @throws the error of the operation; with a bucket `WorkgroupElsewhere` if the warehouse on this machine is
 *   not the newest one
 */
export async function askOrRead<Name extends AskableName>(
  config: Config,
  workgroup: WorkgroupConfig,
  service: Pick<Service, 'logger' | 'clock'>,
  operation: Name,
  args: Operations[Name]['args'],
  read: (assignment: Assignment) => Promise<AsJson<Operations[Name]['result']>>,
): Promise<AsJson<Operations[Name]['result']>> {
  const control = openControl(config, service);
  const result = await control.ask(workgroup.id, operation, args).finally(control.close);
  switch (result.kind) {
    case 'answer':
      return result.answer;
    case 'failed':
      throw result.error;
    case 'not-running':
      await requireNewestWarehouse(config, workgroup.id, service);
      return read(assignmentOf(config, workgroup));
    default:
      return result satisfies never;
  }
}
