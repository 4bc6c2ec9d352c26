import { basename } from 'node:path';
import { localActor } from '../audit/local-actor.ts';
import type { Config, WorkgroupConfig } from '../config.ts';
import { createControl } from '../control/control.ts';
import { TransientError } from '../errors.ts';
import { uploadsClosed } from '../pipeline/operations.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import { MINUTE_MS } from '../time.ts';
import type { UploadList } from '../upload/list.ts';
import { RefusedFile } from '../upload/refusals.ts';
import type { Upload } from '../upload/rows.ts';
import { stageUpload } from '../upload/stage.ts';
import type { StoreOutcome } from '../upload/store.ts';
import type { TakeRequest } from '../upload/take.ts';
import type { Service } from './service.ts';

export interface PutFile {
  path: string;
  outcome: Exclude<StoreOutcome, { kind: 'refused' }>;
}

/** For half a million rows on a busy machine. */
const STORE_MS = 10 * MINUTE_MS;

/** Stores files one after another, through the running service, or in this process where there is none. */
export async function putAll(
  config: Config,
  workgroup: WorkgroupConfig,
  { log, clock, signal }: Service,
  files: ReadonlyArray<{ path: string; upload: Upload }>,
  { again }: { again: boolean },
): Promise<{ isService: boolean; stored: PutFile[] }> {
  const control = createControl(config.dataDir);
  const assignment = { workgroup, dataDir: config.dataDir, pipeline: config.pipeline };
  let own: ReturnType<typeof createPipeline> | undefined;

  async function take(request: TakeRequest): Promise<StoreOutcome> {
    if (own) return own.run(workgroup.id, 'upload', request);
    const asked = await control.ask(workgroup.id, 'upload', request, { signal, withinMs: STORE_MS });
    switch (asked.kind) {
      case 'answer':
        return asked.answer;
      case 'failed':
        throw asked.error;
      case 'not-running':
        own = createPipeline({ logLevel: config.logLevel, log });
        await own.open(assignment);
        return own.run(workgroup.id, 'upload', request);
      default:
        return asked satisfies never;
    }
  }

  const stored: PutFile[] = [];
  try {
    for (const { path, upload } of files) {
      signal.throwIfAborted();
      const staged = stageUpload(config.dataDir, upload, clock);
      try {
        const outcome = await take({ path: staged.path, name: basename(path), actor: localActor(), again });
        if (outcome.kind === 'refused')
          throw new RefusedFile(basename(path), outcome.problems, outcome.count);
        stored.push({ path, outcome });
      } finally {
        staged.remove();
      }
    }
    if (own && stored.some(({ outcome }) => outcome.kind === 'stored'))
      await own.run(workgroup.id, 'publish', undefined);
  } finally {
    await own?.close();
  }
  return { isService: own === undefined, stored };
}

/** What was uploaded and counts, also where nothing was ever taken in. */
export async function listAll(
  config: Config,
  workgroup: WorkgroupConfig,
  { clock }: Pick<Service, 'clock'>,
): Promise<UploadList> {
  const asked = await createControl(config.dataDir).ask(workgroup.id, 'uploads', undefined);
  switch (asked.kind) {
    case 'answer':
      return asked.answer;
    case 'failed':
      throw asked.error;
    case 'not-running':
      return uploadsClosed({ workgroup, dataDir: config.dataDir, pipeline: config.pipeline }, clock).catch(
        (error: unknown) => {
          if (error instanceof TransientError && error.code === 'NoWarehouse')
            return { budgets: [], meters: [] };
          throw error;
        },
      );
    default:
      return asked satisfies never;
  }
}
