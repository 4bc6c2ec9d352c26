import type { ClosedShardState, WorkerDependencies } from '../../jobs/worker-dependencies.ts';
import { channelsOf } from '../config/alert-settings.ts';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock, UtcMs } from '../lib/time.ts';
import type { Assignment } from '../pipeline/assignment.ts';
import { idleNoteOf, type StreamEnd } from '../pipeline/idle-marker.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { PipelineStages } from '../pipeline/pipeline-stages.ts';
import { readStatus, type StatusBook, type WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import type { IdleNotes } from './idle-note-store.ts';
import type { StreamNews } from './stream-news.ts';

interface HibernationOptions {
  config: Pick<Config, 'dataDir' | 'storage'>;
  workgroups: Workgroups;
  assignmentOf(workgroupId: string): Assignment;
  pipeline: Pick<Pipeline, 'run'>;
  stages: Pick<PipelineStages, 'commit'>;
  status: StatusBook;
  /** Undefined if there is no news of the stream's messages. Then no workgroup hibernates. */
  news: StreamNews | undefined;
  idleNotes: IdleNotes;
  /** True while an export of the workgroup is due or runs. */
  isExporting(workgroupId: string): Promise<boolean>;
  clock: Clock;
  logger: Logger;
}

/**
 * Closes workgroups that have nothing to do, and says which of the closed ones have something to do again.
 */
interface Hibernation extends Pick<WorkerDependencies, 'assess' | 'mayHibernate' | 'onHibernated'> {
  /** To be called before the warehouse is opened. @throws as `IdleNotes.remove` does */
  beforeOpen(workgroupId: string): Promise<void>;
  /** To be called when a roll-up begins. A day that begins later is not computed. */
  noteRollUp(workgroupId: string): void;
  /** The status of a workgroup that hibernates. Also known if it hibernated before this process started. */
  statusOf(workgroupId: string): WorkgroupStatus | undefined;
}

/** The position up to which the stream has landed, and when the last roll-up began. */
interface FinishedWork {
  end: StreamEnd;
  computedAtMs: UtcMs;
}

export function createHibernation(options: HibernationOptions): Hibernation {
  const { config, workgroups, assignmentOf, pipeline, stages, status, news, idleNotes, clock, logger } =
    options;
  /** What the workgroups that are about to be closed have done. */
  const finished = new Map<string, FinishedWork>();
  /** When the last roll-ups of the open workgroups began. */
  const rolledUpAtMs = new Map<string, UtcMs>();
  const hibernated = new Map<string, WorkgroupStatus>();

  const hasAlertChannels = (workgroupId: string) => channelsOf(workgroups.alerts(), workgroupId).length > 0;

  async function isDone(workgroupId: string): Promise<boolean> {
    // Alerts are not judged while a workgroup hibernates, and people want to learn about a silent device.
    if (hasAlertChannels(workgroupId)) return false;
    const imports = await pipeline.run(workgroupId, 'importState', undefined);
    const backfills = await pipeline.run(workgroupId, 'backfillState', undefined);
    const isExporting = await options.isExporting(workgroupId);
    return imports.kind !== 'running' && backfills.kind !== 'running' && !isExporting;
  }

  /** @returns undefined if the stream has more messages, or if nothing was rolled up since the opening */
  async function findFinishedWork(workgroupId: string): Promise<FinishedWork | undefined> {
    const end = await news?.headOf(workgroupId);
    const { ask } = await pipeline.run(workgroupId, 'position', undefined);
    const computedAtMs = rolledUpAtMs.get(workgroupId);
    if (end === undefined || computedAtMs === undefined) return undefined;
    return ask.kind === 'offset' && ask.offset === end.next ? { end, computedAtMs } : undefined;
  }

  /**
   * The stream deletes its messages long before the workgroup wakes, so its snapshot must have all of them.
   * @returns false if this failed
   */
  async function tryStoreSnapshot(
    workgroupId: string,
    { end, computedAtMs }: FinishedWork,
  ): Promise<boolean> {
    try {
      if (config.storage.s3) {
        await stages.commit(workgroupId, new AbortController().signal, { isComplete: true });
        const note = idleNoteOf(assignmentOf(workgroupId), end, computedAtMs);
        await pipeline.run(workgroupId, 'noteHibernation', note);
      } else await pipeline.run(workgroupId, 'snapshot', undefined);
      return true;
    } catch (error) {
      if (error instanceof TransientError && error.code === 'NothingPublished') return true;
      logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'snapshot.failed');
      return false;
    }
  }

  return {
    async assess(workgroupId): Promise<ClosedShardState> {
      const end = await news?.headOf(workgroupId);
      const assessed = await idleNotes.assess(assignmentOf(workgroupId), end);
      const state = assessed === 'idle' && hasAlertChannels(workgroupId) ? 'behind' : assessed;
      if (state === 'behind' || state === 'due') return state;
      const written = state === 'idle' ? readStatus(config.dataDir, workgroupId) : undefined;
      if (!written && !status.of(workgroupId).isHibernated) status.note(workgroupId, { isHibernated: true });
      hibernated.set(workgroupId, written ?? status.of(workgroupId));
      return state;
    },
    async mayHibernate(workgroupId) {
      if (!(await isDone(workgroupId))) return false;
      const work = await findFinishedWork(workgroupId);
      if (!work || !(await tryStoreSnapshot(workgroupId, work))) return false;
      finished.set(workgroupId, work);
      return true;
    },
    async onHibernated(workgroupId) {
      const work = finished.get(workgroupId);
      finished.delete(workgroupId);
      if (work) await idleNotes.write(assignmentOf(workgroupId), work.end, work.computedAtMs);
      rolledUpAtMs.delete(workgroupId);
      status.note(workgroupId, { isHibernated: true, troubles: [] });
      hibernated.set(workgroupId, status.of(workgroupId));
      // No later change writes it. Stages report a full disk.
      void status.flush().catch(() => undefined);
    },
    async beforeOpen(workgroupId) {
      hibernated.delete(workgroupId);
      rolledUpAtMs.delete(workgroupId);
      await idleNotes.remove(assignmentOf(workgroupId));
    },
    noteRollUp: (workgroupId) => void rolledUpAtMs.set(workgroupId, clock.now()),
    statusOf: (workgroupId) => hibernated.get(workgroupId),
  };
}
