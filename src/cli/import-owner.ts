import type { Config, WorkgroupConfig } from '../config.ts';
import { type AskOutcome, createControl } from '../control/control.ts';
import type { Told } from '../control/wire.ts';
import { TransientError } from '../errors.ts';
import type { ImportRequest } from '../import/import-file.ts';
import type { ImportState } from '../import/job.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import type { Service } from './service.ts';

/** Whoever has the warehouse open: the running service, or this process where there is none. */
export interface ImportOwner {
  isService: boolean;
  start(request: ImportRequest): Promise<void>;
  state(): Promise<Told<ImportState>>;
  stop(): Promise<void>;
  /** One more piece of what follows landing; a service does that by itself. @returns false once nothing is left to do */
  followUp(): Promise<boolean>;
  close(): Promise<void>;
}

/** @throws TransientError where another process has the warehouse open and cannot be asked */
export async function findOwner(
  config: Config,
  workgroup: WorkgroupConfig,
  { log }: Pick<Service, 'log'>,
): Promise<ImportOwner> {
  const control = createControl(config.dataDir);
  const found = await control.ask(workgroup.id, 'importState', undefined);
  // What the import before has failed with is not about this one.
  if (found.kind !== 'not-running') return serviceOwner(control, workgroup.id);
  const pipeline = createPipeline({ logLevel: config.logLevel, log });
  try {
    await pipeline.open({ workgroup, dataDir: config.dataDir, pipeline: config.pipeline });
  } catch (error) {
    await pipeline.close();
    throw error;
  }
  return {
    isService: false,
    start: (request) => pipeline.run(workgroup.id, 'importStart', request),
    state: () => pipeline.run(workgroup.id, 'importState', undefined),
    stop: () => pipeline.run(workgroup.id, 'importStop', undefined),
    async followUp() {
      const { more } = await pipeline.run(workgroup.id, 'rollUp', undefined);
      if (!more) await pipeline.run(workgroup.id, 'publish', undefined);
      return more;
    },
    close: () => pipeline.close(),
  };
}

function serviceOwner(control: ReturnType<typeof createControl>, workgroupId: string): ImportOwner {
  return {
    isService: true,
    start: async (request) => void answerOf(await control.ask(workgroupId, 'importStart', request)),
    state: async () => answerOf(await control.ask(workgroupId, 'importState', undefined)),
    stop: async () => void answerOf(await control.ask(workgroupId, 'importStop', undefined)),
    followUp: async () => false,
    close: async () => undefined,
  };
}

function answerOf<Answer>(outcome: AskOutcome<Answer>): Answer {
  switch (outcome.kind) {
    case 'answer':
      return outcome.answer;
    case 'failed':
      throw outcome.error;
    case 'not-running':
      throw new TransientError('ServiceEnded', 'the service has ended; run the same command again to go on');
    default:
      return outcome satisfies never;
  }
}
