import type { Config, WorkgroupConfig } from '../config/config.ts';
import { TransientError } from '../lib/errors.ts';
import { keepFilesPrivate } from '../lib/private-files.ts';
import { assignmentOf } from '../pipeline/assignment.ts';
import type { Operations } from '../pipeline/operations.ts';
import { createPipeline, type Pipeline } from '../pipeline/pipeline.ts';
import type { AskableName } from '../pipeline/remote-operations.ts';
import type { AsJson } from '../worker-rpc/rpc-wire.ts';
import { type OpenControl, openControl } from './open-control.ts';
import { requireNewestWarehouse } from './require-newest-warehouse.ts';
import type { Service } from './service.ts';

/** The process that has the warehouse open: the running service, or else this process. */
export interface WarehouseOwner {
  isService: boolean;
  ask<Name extends AskableName>(
    operation: Name,
    args: Operations[Name]['args'],
    options?: { signal?: AbortSignal; withinMs?: number },
  ): Promise<AsJson<Operations[Name]['result']>>;
  /**
   * Runs one step of roll-up and publishing. A service does this by itself.
   * @returns false if nothing is left to do
   */
  followUp(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * @param prepare called with the pipeline if this process opens the warehouse
 * @throws TransientError if another process has the warehouse open and cannot be asked, or if the newest data
 *   are in a bucket and a worker may have them
 */
export async function openOwner(
  config: Config,
  workgroup: WorkgroupConfig,
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
  prepare: (pipeline: Pipeline) => Promise<Pick<Pipeline, 'run'>> = async (pipeline) => pipeline,
): Promise<WarehouseOwner> {
  const control = openControl(config, { logger });
  const found = await control.ask(workgroup.id, 'status', undefined);
  if (found.kind !== 'not-running') return serviceOwner(control, workgroup.id);
  control.close();
  const assignment = assignmentOf(config, workgroup);
  // Opening claims the workgroup. Only the queue in Redis shows that no worker of another machine has it.
  if (config.queue.backend !== 'redis') await requireNewestWarehouse(config, workgroup.id, { clock });
  keepFilesPrivate(config.dataReaders);
  const pipeline = createPipeline({ logLevel: config.logLevel, logger });
  try {
    await pipeline.open(assignment);
    const prepared = await prepare(pipeline);
    return {
      isService: false,
      ask: async (operation, args) => (await prepared.run(workgroup.id, operation, args)) as never,
      async followUp() {
        const { more } = await pipeline.run(workgroup.id, 'rollUp', undefined);
        if (!more) await pipeline.run(workgroup.id, 'publish', undefined);
        return more;
      },
      async close() {
        // Closing also commits, and only logs a failure.
        const commit = () => pipeline.run(workgroup.id, 'commit', { isComplete: true });
        await (config.storage.s3 ? commit() : Promise.resolve()).finally(() => pipeline.close());
      },
    };
  } catch (error) {
    await pipeline.close();
    throw error;
  }
}

function serviceOwner(control: OpenControl, workgroupId: string): WarehouseOwner {
  return {
    isService: true,
    async ask(operation, args, options) {
      const outcome = await control.ask(workgroupId, operation, args, options);
      switch (outcome.kind) {
        case 'answer':
          return outcome.answer;
        case 'failed':
          throw outcome.error;
        case 'not-running':
          throw new TransientError(
            'ServiceEnded',
            'the service has ended; run the same command again to continue',
          );
        default:
          return outcome satisfies never;
      }
    },
    followUp: async () => false,
    close: async () => control.close(),
  };
}
