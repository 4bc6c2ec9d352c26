import type { Audit } from '../audit/audit.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { readStaged } from './stage-upload.ts';
import { type StoreOutcome, storeUpload, type UploadOrigin } from './store-upload.ts';

/** A request to the process that has the warehouse open. */
export interface TakeRequest extends UploadOrigin {
  /** The file of the rows, see `stageUpload`. */
  path: string;
  /** The id of the request of HTTP, for the log. */
  requestId?: string | undefined;
}

/** Stores a staged upload, and records it in the audit log. */
export async function takeUpload(
  shard: Shard,
  { path, requestId, ...origin }: TakeRequest,
  { audit, clock, logger }: { audit: Audit; clock: Clock; logger: Logger },
): Promise<StoreOutcome> {
  const startMs = performance.now();
  const upload = readStaged(path);
  const outcome = await storeUpload(shard, upload, origin, clock.now());
  if (outcome.kind === 'stored') {
    const { kind: _, ...counts } = outcome;
    const thing = upload.kind === 'budget' ? 'budget' : 'meter_data';
    const action = `${thing}.uploaded` as const;
    audit.record(shard.workgroupId, {
      actor: origin.actor,
      action,
      target: origin.name,
      data: { ...counts },
    });
    const durationMs = Math.round(performance.now() - startMs);
    const event = { workgroup: shard.workgroupId, requestId, what: upload.kind, ...counts, durationMs };
    logger.info(event, 'upload.stored');
  }
  return outcome;
}
