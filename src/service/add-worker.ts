import { join } from 'node:path';
import { type RunningWorker, startWorker } from '../../jobs/worker.ts';
import type { WorkerDependencies } from '../../jobs/worker-dependencies.ts';
import type { WorkerHealth } from '../../jobs/worker-health.ts';
import type { Access } from '../access/access.ts';
import type { Alerts } from '../alerts/start-alerts.ts';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { SECOND_MS } from '../lib/time.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import type { WorkerEvents, WorkerView } from '../metrics/worker-metrics.ts';
import { assignmentOf, lakeFolder } from '../pipeline/assignment.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import { createPipelineStages } from '../pipeline/pipeline-stages.ts';
import { createStatusBook } from '../pipeline/workgroup-status.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { removeAllPrepared } from '../replica/prepare-take-over.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import { createControlServer } from '../worker-rpc/control-server.ts';
import { acceptRemoteCalls } from './accept-remote-calls.ts';
import { answerForShards } from './answer-for-shards.ts';
import type { BucketProbe } from './bucket-probe.ts';
import { createExportStage } from './export-stage.ts';
import { followStreams, hasStreamNews } from './follow-streams.ts';
import { createHibernation } from './hibernation.ts';
import { createLocalIdleNotes, createSharedIdleNotes } from './idle-note-store.ts';
import { lookAtBucket } from './look-at-bucket.ts';
import { openAlerts } from './open-alerts.ts';
import type { BucketLake } from './open-bucket-lake.ts';
import type { Service } from './service.ts';
import type { StreamNews } from './stream-news.ts';
import { tellTroubles } from './tell-troubles.ts';
import { createUpstreams, withUpstreams } from './upstreams.ts';
import { withAlerts } from './with-alerts.ts';

/** The worker of this process. */
export interface WorkerRole {
  health(): WorkerHealth;
  /** What metrics read. */
  view: WorkerView;
  /**
   * Notes the news that the bucket has a commit. If another owner has created it, the workgroup is closed
   * here.
   */
  noteCommit(workgroupId: string, sequence: number): void;
  stop(): Promise<void>;
}

type WorkerOptions = Pick<Service, 'logger' | 'clock'> & {
  access: Access;
  audit: Audit;
  workgroups: Workgroups;
  /** Undefined if the stream is in another process, and there is no news of its messages. */
  news: StreamNews | undefined;
  /** The Redis of the queue. Undefined with the embedded queue. */
  redis: RedisConnection | undefined;
  /** The lakes of the bucket. Undefined if no bucket is configured. */
  bucket: BucketLake | undefined;
  /** The probe of the bucket. Its check at the start of the service has ended. */
  probe: BucketProbe;
  /** Called when the bucket has a new commit of a workgroup that this worker owns. */
  onCommitted?: (workgroupId: string, sequence: number) => void;
  /** Counts what the worker does. */
  events: WorkerEvents;
};

/** After its worker has stopped, the pipeline must close within this time. */
const PIPELINE_CLOSE_TIMEOUT_MS = 2 * SECOND_MS;

/** Starts the worker, and answers requests of other processes about its workgroups. */
export async function addWorker(config: Config, ownUrl: string, options: WorkerOptions): Promise<WorkerRole> {
  const { workgroups, news, redis, probe, events, logger, clock } = options;
  // The stages and the answers to other processes are made before the worker and the alerts that they use.
  // They wait for these two promises.
  const started = Promise.withResolvers<RunningWorker>();
  const alerting = Promise.withResolvers<Alerts>();
  let alerts: Alerts | undefined;
  const parts = createParts(config, ownUrl, options, started.promise);
  const { pipeline, status, stages, exporting, hibernation } = parts;
  const answers = createAnswers(config, parts, started.promise, alerting.promise);
  const control = createControlServer({ dataDir: config.dataDir, ...answers, logger });

  await removeAllPrepared([join(config.dataDir, 'warehouse'), lakeFolder(config)]);
  const worker = await startWorker({
    config,
    workgroups,
    logger,
    clock,
    dependencies: {
      ...stageDependencies(config, parts),
      onStageEnded: events.onStageEnded,
      async openShard(workgroupId) {
        await probe.beforeUse();
        await hibernation.beforeOpen(workgroupId);
        await stages.openShard(workgroupId);
        await control.open(workgroupId);
        status.note(workgroupId, { isHibernated: false });
      },
      async closeShard(workgroupId) {
        control.close(workgroupId);
        await Promise.all([alerts?.leave(workgroupId), stages.closeShard(workgroupId)]);
      },
    },
  });
  started.resolve(worker);
  alerts = openAlerts({
    config,
    workgroups,
    holds: worker.holds,
    health: worker.health,
    statusOf: status.of,
    pipeline,
    exportStates: exporting.states,
    lakeOf: exporting.openLake,
    clock,
    logger,
  });
  alerting.resolve(alerts);
  // One of several workers may take over a workgroup at any time, so its thread starts now.
  if (config.queue.backend === 'redis') pipeline.warmUp();
  followStreams(worker, { workgroups, news });
  await control.listen();
  const calls = { ...answers, workerId: worker.workerId, hasOpen: control.isOpen };
  const stopRemoteCalls = redis && (await acceptRemoteCalls(config, redis, calls, { logger, clock }));
  const stopTelling = tellTroubles({
    health: worker.health,
    status,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  return {
    health: worker.health,
    view: {
      shards: () => worker.health().shards,
      // `status.of` would create a status for a workgroup that hibernates.
      statusOf: (workgroupId, isHibernated) =>
        isHibernated ? hibernation.statusOf(workgroupId) : status.of(workgroupId),
      exports: exporting.states,
      alertsSent: () => alerts.sent(),
    },
    noteCommit(workgroupId, sequence) {
      if (control.isOpen(workgroupId)) void lookAtBucket(worker, workgroupId, sequence, { ...parts, logger });
    },
    async stop() {
      stopTelling();
      await worker.stop();
      try {
        // Work that does not end now ends with the process.
        await withTimeout(
          Promise.all([alerts.stop(), stages.close(), control.end(), stopRemoteCalls?.(), exporting.close()]),
          PIPELINE_CLOSE_TIMEOUT_MS,
        );
      } finally {
        await status.close();
      }
    },
  };
}

/** The parts of a worker that exist before it runs. */
type WorkerParts = ReturnType<typeof createParts>;

/** @param worker resolves when the worker runs; a shard can land messages before that */
function createParts(
  config: Config,
  ownUrl: string,
  { access, audit, workgroups, news, redis, bucket, onCommitted, events, logger, clock }: WorkerOptions,
  worker: Promise<RunningWorker>,
) {
  const assignment = (workgroupId: string) => assignmentOf(config, workgroups.get(workgroupId)!);
  const hasNews = (workgroupId: string) => hasStreamNews(workgroupId, { workgroups, news });
  const noteChange = (workgroupId: string) => void worker.then((running) => running.noteChange(workgroupId));
  const pipeline = createPipeline({ logLevel: config.logLevel, logger });
  const status = createStatusBook({ dataDir: config.dataDir, clock, logger });
  const storeOf = (workgroupId: string) => workgroupStore(config.storage, workgroupId)!;
  const idleNotes = config.storage.s3
    ? createSharedIdleNotes({ redis, storeOf, clock, logger })
    : createLocalIdleNotes({ clock, logger });
  const { upstreamOf, addressOf } = createUpstreams(workgroups, ownUrl, access, clock);
  const stages = createPipelineStages({
    config,
    workgroups,
    pipeline,
    status,
    clock,
    logger,
    upstreamOf,
    hasNews,
    onCommitted,
    onEventDelays: events.onEventDelays,
    onLanded: noteChange,
  });
  const exporting = createExportStage({ config, workgroups, audit, bucket, status, clock, logger });
  const hibernation = createHibernation({
    config,
    workgroups,
    assignmentOf: assignment,
    pipeline,
    stages,
    status,
    news,
    idleNotes,
    isExporting: exporting.hasPending,
    clock,
    logger,
  });

  return { pipeline, status, stages, exporting, hibernation, addressOf, assignment, hasNews, noteChange };
}

/** Answers other processes of this machine, and of other machines. */
function createAnswers(
  config: Config,
  { pipeline, stages, addressOf, noteChange }: WorkerParts,
  worker: Promise<RunningWorker>,
  alerts: Promise<Alerts>,
) {
  return {
    pipeline: answerForShards(
      withAlerts(withUpstreams(pipeline, addressOf), () => alerts),
      {
        wake: async (workgroupId) => (await worker).wake(workgroupId),
        noteChange,
        ...(config.storage.s3 && { noteCommit: stages.noteCommit }),
      },
    ),
    // A workgroup that hibernates is opened for a request.
    canWake: async (workgroupId: string) => (await worker).canWake(workgroupId),
  };
}

/** What a shard needs besides its opening and closing: its stages, its end, and its files from the bucket. */
function stageDependencies(
  config: Config,
  { pipeline, stages, exporting, hibernation, assignment, hasNews }: WorkerParts,
): Omit<WorkerDependencies, 'openShard' | 'closeShard'> {
  const { assess, mayHibernate, onHibernated } = hibernation;
  return {
    stages: {
      ...stages,
      rollup(workgroupId, signal) {
        hibernation.noteRollUp(workgroupId);
        return stages.rollup(workgroupId, signal);
      },
      export: exporting.run,
    },
    hasNews,
    ...(config.storage.s3 && {
      prepare: (workgroupId: string) => pipeline.prepare(assignment(workgroupId)),
      discard: pipeline.discard,
    }),
    assess,
    mayHibernate,
    onHibernated,
  };
}
