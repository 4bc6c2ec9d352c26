import { basename } from 'node:path';
import { localActor } from '../../audit/local-actor.ts';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { TransientError } from '../../lib/errors.ts';
import { type Clock, MINUTE_MS } from '../../lib/time.ts';
import { uploadsClosed } from '../../pipeline/offline-operations.ts';
import { askOrRead } from '../../service/ask-or-read.ts';
import { followUpAll } from '../../service/follow-up-all.ts';
import type { WarehouseOwner } from '../../service/open-owner.ts';
import type { Service } from '../../service/service.ts';
import type { UploadList } from '../../upload/list-uploads.ts';
import { RefusedFile } from '../../upload/refusals.ts';
import { stageUpload } from '../../upload/stage-upload.ts';
import type { StoreOutcome } from '../../upload/store-upload.ts';
import type { Upload } from '../../upload/upload-rows.ts';

export interface PutFile {
  path: string;
  outcome: Exclude<StoreOutcome, { kind: 'refused' }>;
}

/** Enough for half a million rows on a busy machine. */
const STORE_MS = 10 * MINUTE_MS;

export interface PutOptions {
  owner: WarehouseOwner;
  dataDir: string;
  again: boolean;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Stores files one after another, and publishes them if no service runs.
 * @param onFile called after each stored file, even if a later one is refused
 */
export async function putAll(
  files: ReadonlyArray<{ path: string; upload: Upload }>,
  { owner, dataDir, again, clock, signal }: PutOptions,
  onFile: (file: PutFile) => void,
): Promise<void> {
  let isNew = false;
  try {
    for (const { path, upload } of files) {
      signal.throwIfAborted();
      const name = basename(path);
      const staged = stageUpload(dataDir, upload, clock);
      try {
        const request = { path: staged.path, name, actor: localActor(), again };
        const outcome = await owner.ask('upload', request, { signal, withinMs: STORE_MS });
        if (outcome.kind === 'refused') throw new RefusedFile(name, outcome.problems, outcome.count);
        isNew ||= outcome.kind === 'stored';
        onFile({ path, outcome });
      } finally {
        staged.remove();
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = 'interrupted; run the same command again to store the remaining files';
    throw new TransientError('Interrupted', message, { cause: error });
  } finally {
    if (isNew) await followUpAll(owner, signal);
  }
}

/** The uploads that count. Empty if no warehouse exists yet. */
export async function listAll(
  config: Config,
  workgroup: WorkgroupConfig,
  service: Pick<Service, 'clock' | 'logger'>,
): Promise<UploadList> {
  return askOrRead(config, workgroup, service, 'uploads', undefined, (assignment) =>
    uploadsClosed(assignment, service.clock).catch((error: unknown) => {
      if (error instanceof TransientError && error.code === 'NoWarehouse') return { budgets: [], meters: [] };
      throw error;
    }),
  );
}
