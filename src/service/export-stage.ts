import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { Exports } from '../exports/create-exports.ts';
import { openOnce } from '../lib/open-once.ts';
import { elapsedOf, MINUTE_MS } from '../lib/time.ts';
import type { StatusBook } from '../pipeline/workgroup-status.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import type { BucketLake } from './open-bucket-lake.ts';
import { openExports } from './open-exports.ts';
import type { Service } from './service.ts';

/** The worker's stage of exports. Opened by its first use, because a reader of the lake takes memory. */
interface ExportStage {
  /**
   * Runs the exports of a workgroup that are due. `more`: it waits until the workgroup has caught up with its
   * stream.
   */
  run(workgroupId: string, signal: AbortSignal): Promise<{ more: boolean }>;
  /** True while an export of the workgroup is due or runs. */
  hasPending(workgroupId: string): Promise<boolean>;
  /** Without an entry before the first run. */
  states: Exports['states'];
  /** The reader of the exports. */
  openLake(): Promise<LakeReader>;
  close(): Promise<void>;
}

interface ExportStageOptions extends Pick<Service, 'logger' | 'clock'> {
  config: Config;
  workgroups: Workgroups;
  audit: Audit;
  /** The lakes of the bucket. Undefined if no bucket is configured. */
  bucket: BucketLake | undefined;
  status: Pick<StatusBook, 'of'>;
}

/** Exports wait at most this long for a stream that is behind or unreachable. */
const STREAM_WAIT_MS_MAX = 10 * MINUTE_MS;

export function createExportStage(options: ExportStageOptions): ExportStage {
  const { config, workgroups, audit, bucket, status, logger, clock } = options;
  const startedAtMs = elapsedOf(clock);
  const opening = openOnce(() => openExports(config, { audit, bucket, clock, logger }, workgroups));
  let states: Exports['states'] = () => new Map();

  return {
    async run(workgroupId, signal) {
      const { poll, publish } = status.of(workgroupId);
      const hasCaughtUp = poll.upToDate && publish.lastSuccessAtMs !== undefined;
      // Messages that arrived while no worker ran are not published yet.
      if (!hasCaughtUp && elapsedOf(clock) - startedAtMs < STREAM_WAIT_MS_MAX) return { more: true };
      if (workgroups.exportsOf(workgroupId).length === 0) return { more: false };
      const opened = await opening.get();
      states = () => opened.exports.states();
      await opened.exports.work(workgroupId, signal);
      return { more: false };
    },
    hasPending: async (workgroupId) =>
      (await (await opening.ifOpened())?.exports.hasPending(workgroupId)) ?? false,
    states: () => states(),
    openLake: async () => (await opening.get()).lake,
    close: async () => (await opening.ifOpened())?.close(),
  };
}
